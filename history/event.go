// Package history is the vocabulary every part of Pestle shares: what clients
// and faults did, one Event per line, in the order of one monotonic clock.
//
// It owns the event type, its line format and the merging of several
// processes' streams into one order. It never touches a file or a clock: the
// files are in history/stream.
//
// A history line is one JSON object; fields that do not apply are absent:
//
//	{"seq":7,"t":123456789,"src":"producer-1","ev":"attempt","id":"producer-1-42","try":1,"topic":"orders","size":512,"sum":"9f86…"}
//	{"seq":8,"t":123999999,"src":"producer-1","ev":"ack","id":"producer-1-42","try":1,"topic":"orders"}
//	{"seq":3,"t":124111111,"src":"consumer-ordered-1","ev":"consume","id":"producer-1-42","topic":"orders","channel":"ordered","consumer":"consumer-ordered-1","pos":"0000100000000007","attempts":1,"size":512,"sum":"9f86…"}
//	{"seq":1,"t":100,"src":"harness","ev":"phase","what":"chaos"}
//	{"seq":5,"t":130,"src":"harness","ev":"fault","what":"kill","target":"broker-1","edge":"effective","ref":3}
package history

// Kind says what happened; it is the line's "ev".
type Kind string

// The kinds of events.
const (
	Attempt Kind = "attempt" // a send was started: stamped before its first byte leaves
	Ack     Kind = "ack"     // the system confirmed the send: stamped after the answer was read
	Fail    Kind = "fail"    // the system refused the send for sure, or nothing was sent
	Unknown Kind = "unknown" // the send may or may not have arrived: timeout, or the connection was lost after a byte may have left
	Consume Kind = "consume" // a message was handed to a consumer's handler
	Finish  Kind = "finish"  // the consumer confirmed it to the system (FIN, commit)
	Requeue Kind = "requeue" // the consumer gave it back (REQ)
	Phase   Kind = "phase"   // the run entered a phase; What is one of the Phase… names
	Fault   Kind = "fault"   // a fault took effect or ended; What is the fault kind, Edge says which
	Note    Kind = "note"    // anything else a judgement needs; What is one of the Note… names
)

// Phases of a run, in order. PhaseQuiet and PhaseQuietEnd alternate inside
// chaos: between them no fault is active and the liveness properties apply.
const (
	PhaseBoot     = "boot"
	PhaseWarmUp   = "warm-up"
	PhaseChaos    = "chaos"
	PhaseQuiet    = "quiet"
	PhaseQuietEnd = "quiet-end"
	PhaseHeal     = "heal"
	PhaseDrain    = "drain"
	PhaseVerify   = "verify"
	PhaseEnd      = "end"
)

// Edges of a fault: a kill is "effective" when its signal is sent and "ended"
// when the successor of the process is ready again.
const (
	EdgeEffective = "effective"
	EdgeEnded     = "ended"
)

// What a Note line says.
const (
	NoteStarted      = "started"      // Src (a workload process) began an incarnation; Try is its number from 1
	NoteStopped      = "stopped"      // Src ended by itself, in order
	NoteConnected    = "connected"    // Src has a working connection to Target (a broker process, or the address of one whose name is not known)
	NoteDisconnected = "disconnected" // Src lost its connection to Target
	NoteReady        = "ready"        // Target (a broker process) answers
	NoteExited       = "exited"       // Target ended without a fault having asked for it; Text says how
	NoteGaveUp       = "gave-up"      // the producer will not try ID again; its last try was Try
	NoteSentinel     = "sentinel"     // ID is Src's last message of the run; it is acked
	NoteForgot       = "forgot"       // Src keeps ID, consumed at Pos, without an answer: its lease has to bring it back
	NoteOverrun      = "overrun"      // Src was sent ID at Pos although its RDY allowed no more; Text says how many it held
	NoteDrained      = "drained"      // the target's statistics show Channel of Topic empty (nothing waiting, in flight or deferred)
	NoteWatched      = "watched"      // the world looks into the target while it runs and knows what must be true there
	NoteInvariant    = "invariant"    // what Target shows cannot be: Text is the name of what it breaks, a colon and what was seen
	NoteBacklog      = "backlog"      // the drain's time is over and Channel of Topic was not seen empty; Text says what is left
	NoteStored       = "stored"       // ID was seen, one by one, still stored for Channel
	NoteTick         = "tick"         // nothing happened lately in Src: a watermark
	NoteReplayed     = "replayed"     // the line before was rebuilt from Src's state file after a kill
	NoteMalformed    = "malformed"    // a consumed body was no envelope, or did not match its checksum; Text says what
)

// Event is one line of history. Which fields are set depends on Ev.
type Event struct {
	Seq uint64 `json:"seq"` // counts the lines of Src over all its incarnations, from 1, without gaps
	T   int64  `json:"t"`   // CLOCK_MONOTONIC in nanoseconds
	Src string `json:"src"` // the process that wrote the line
	Ev  Kind   `json:"ev"`

	ID       string `json:"id,omitempty"`       // producer-<n>-<counter>, counter from 1
	Try      int    `json:"try,omitempty"`      // number of the send of ID, from 1
	Topic    string `json:"topic,omitempty"`    //
	Channel  string `json:"channel,omitempty"`  // channel or consumer group
	Consumer string `json:"consumer,omitempty"` // name of the consumer process
	Pos      string `json:"pos,omitempty"`      // the target's position of the message
	Attempts int    `json:"attempts,omitempty"` // deliveries so far, as the target counts them, from 1
	Size     int    `json:"size,omitempty"`     // payload size in bytes
	Sum      string `json:"sum,omitempty"`      // SHA-256 of the envelope's protected part, hex
	Defer    int64  `json:"defer,omitempty"`    // attempt, requeue: the target must not deliver it before so many ns have passed; 0: it may at once
	Held     int    `json:"held,omitempty"`     // consume: deliveries on the consumer's connection without an answer when this one came, itself included; no more than its client can prove; 0: not known

	What   string `json:"what,omitempty"`   // name of the phase, fault kind or note
	Target string `json:"target,omitempty"` // process or address a fault or note is about; consume, finish, requeue: the broker the delivery came from
	Edge   string `json:"edge,omitempty"`   // fault: effective or ended
	Ref    int    `json:"ref,omitempty"`    // fault: its number in the plan, from 1
	Text   string `json:"text,omitempty"`   // for people: reason or error
}

// Before orders events of different streams: by time, then source, then
// sequence number. It is a total order over one run's events.
func (e Event) Before(o Event) bool {
	if e.T != o.T {
		return e.T < o.T
	}
	if e.Src != o.Src {
		return e.Src < o.Src
	}
	return e.Seq < o.Seq
}
