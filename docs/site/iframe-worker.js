// Search without a server. The theme searches in a Worker, and browsers refuse Workers of pages opened as files; so the
// Worker's script runs in a hidden frame there. The theme looks for the name IFrameWorker in the page.
if (location.protocol === "file:") {
  window.IFrameWorker = class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = url;
      this.deliver = new Promise((resolve) => {
        script.onload = () => resolve((data) => inside.dispatchEvent(new MessageEvent("message", { data })));
      });
      frame.contentDocument.body.appendChild(script);
    }
    postMessage(data) {
      this.deliver.then((deliver) => deliver(data));
    }
  };
  window.Worker = window.IFrameWorker;
}
