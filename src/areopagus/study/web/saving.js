// Saving while somebody works: nothing is called saved before the server has said so, and what it
// has not said is sent again until it does.

const SETTLE_MS = 400;
const LONGEST_WAIT_MS = 15000;
const IDLE_MS = 60000;

export class Refused extends Error {
  constructor(status, body) {
    super(body.error || "the study cannot be reached");
    this.status = status;
    this.body = body;
  }
}

// The secret stands behind the # of the link, which the browser keeps to itself.
export async function ask(path, { method = "GET", body, keepalive = false } = {}) {
  const headers = { Authorization: `Bearer ${location.hash.slice(1)}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(path, {
    method,
    headers,
    keepalive,
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  });
  const found = await response.json();
  if (!response.ok) throw new Refused(response.status, found);
  return found;
}

function drawnId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Time in which the page is in sight and somebody acts on it.
export class Attention {
  constructor() {
    this.ms = 0;
    this.last = performance.now();
    this.acted = this.last;
    this.note = () => { this.acted = performance.now(); };
    for (const kind of ["pointerdown", "pointermove", "keydown", "scroll", "touchmove"]) {
      addEventListener(kind, this.note, { passive: true });
    }
    this.timer = setInterval(() => this.tick(), 1000);
  }
  tick() {
    const now = performance.now();
    if (!document.hidden && now - this.acted < IDLE_MS) this.ms += now - this.last;
    this.last = now;
  }
  // The time since it was taken last.
  take() {
    this.tick();
    const taken = Math.round(this.ms);
    this.ms -= taken;
    return Math.max(0, taken);
  }
  give(ms) { this.ms += ms; }
  stop() {
    clearInterval(this.timer);
    for (const kind of ["pointerdown", "pointermove", "keydown", "scroll", "touchmove"]) {
      removeEventListener(kind, this.note);
    }
  }
}

export class Saver {
  // content() gives what is to be saved; told(text, isBad) says how it went; answered(reply) gets
  // the server's answer; conflicted(page) gets what another window has saved.
  constructor({ path, revision, content, told, answered, conflicted }) {
    Object.assign(this, { path, revision, content, told, answered, conflicted });
    this.attention = new Attention();
    this.isDirty = false;
    this.waits = 1000;
    this.timer = null;
    this.running = null;
    this.pending = null;
    this.isOver = false;
    this.leave = (event) => { if (this.isUnsaved) event.preventDefault(); };
    this.hide = () => { if (document.hidden && this.isDirty) this.flush(true); };
    addEventListener("beforeunload", this.leave);
    document.addEventListener("visibilitychange", this.hide);
  }
  get isUnsaved() { return this.isDirty || this.pending !== null; }
  changed() {
    this.isDirty = true;
    this.told("Saving…", false);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), SETTLE_MS);
  }
  // Goes on once the server has the finished page: now, or when it can be reached again.
  goesOn(next) {
    this.answered = (reply) => {
      if (!reply.done) return;
      this.answered = () => {};
      setTimeout(() => next(reply));  // this save has to end first
    };
  }
  // Resolves when all changes are with the server, or false where that failed for good.
  async flush(keepalive = false) {
    clearTimeout(this.timer);
    if (this.running) {
      await this.running;
      return this.isUnsaved && !this.isOver ? this.flush(keepalive) : !this.isOver;
    }
    if (!this.isUnsaved || this.isOver) return !this.isOver;
    this.running = this.send(keepalive);
    const went = await this.running;
    this.running = null;
    if (went && this.isDirty) return this.flush(keepalive);
    return went;
  }
  async send(keepalive) {
    // A save whose answer was lost goes out again as it was, under the same id: it counts once.
    if (this.pending === null) {
      this.isDirty = false;
      this.pending = {
        ...this.content(),
        revision: this.revision,
        save_id: drawnId(),
        active_ms: this.attention.take(),
      };
    }
    try {
      const reply = await ask(this.path, { method: "PUT", body: this.pending, keepalive });
      this.revision = reply.revision;
      this.pending = null;
      this.waits = 1000;
      this.told("Saved", false);
      this.answered(reply);
      return true;
    } catch (error) {
      return this.failed(error);
    }
  }
  failed(error) {
    if (error instanceof Refused && error.status < 500) {
      const sent = this.pending;
      this.pending = null;
      if (error.status === 409 && error.body.page) {
        this.isDirty = false;
        this.told(error.message, true);
        this.conflicted(error.body.page, error.message);
        return false;
      }
      this.attention.give(sent.active_ms);
      if (error.status === 401 || error.status === 403) this.isOver = true;
      this.told(`Not saved: ${error.message}`, true);
      return false;
    }
    this.told("Not saved: no connection. Trying again; please keep this page open.", true);
    this.timer = setTimeout(() => this.flush(), this.waits);
    this.waits = Math.min(LONGEST_WAIT_MS, this.waits * 2);
    return false;
  }
  stop() {
    clearTimeout(this.timer);
    this.attention.stop();
    removeEventListener("beforeunload", this.leave);
    document.removeEventListener("visibilitychange", this.hide);
  }
}
