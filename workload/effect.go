package workload

import "pestle/history"

// EventKind says which fields of an Event are set.
type EventKind uint8

// The events that a driver reports. An Ack, Fail or Unknown answers one
// FxSend; each gets exactly one.
const (
	EvStart        EventKind = iota + 1 // the process is up
	EvTimer                             // NextDeadline has passed
	EvAck                               // producer: the target confirmed Try of ID
	EvFail                              // producer: it refused Try of ID for sure, or nothing of it was sent; Text says why
	EvUnknown                           // producer: Try of ID may have arrived; Text says why
	EvDelivery                          // consumer: Delivery was read
	EvConnected                         // a connection to Target, a broker, works
	EvDisconnected                      // the connection to Target is lost; Text says why
	EvDrain                             // no new messages; a producer ends with a sentinel
	EvStop                              // end in order
)

// Event is one input of a machine.
type Event struct {
	Kind     EventKind
	ID       ID
	Try      int
	Delivery Delivery
	Target   string
	Text     string
}

// Delivery is a message as a consumer's client read it.
type Delivery struct {
	Token    uint64 // chosen by the driver, names the delivery in FxFinish and FxRequeue
	Target   string // the broker it came from, as EvConnected names it; empty: not known
	Position string // of the message in the target
	Attempts int    // deliveries so far, from 1, as the target counts them
	Held     int    // deliveries on its connection without an answer, this one included, as far as the client can prove; 0: it does not count
	Overrun  bool   // the client proves that they are more than its RDY allows
	Body     []byte // not kept
}

// EffectKind says which fields of an Effect are set.
type EffectKind uint8

// The effects, to be carried out in the order of the list: none may begin
// before the one before it is done. When one fails, the process must end
// without carrying out the rest.
const (
	FxState   EffectKind = iota + 1 // append Line to the state file
	FxHistory                       // append History to the history file
	FxSend                          // publish Body, deferred by Delay, and answer before Deadline has passed
	FxFinish                        // confirm delivery Token to the target
	FxRequeue                       // give delivery Token back, to come again after Delay
	FxForget                        // delivery Token will get no answer
	FxDone                          // the machine has come to its end
)

// Effect is one output of a machine.
type Effect struct {
	Kind     EffectKind
	Line     []byte
	History  history.Event // Src and Seq are the writer's to fill in
	ID       ID
	Try      int
	Body     []byte
	Deadline int64
	Token    uint64
	Delay    int64 // ns, in whole ms
}

// Effects collects what one or more Steps want done. Drivers reuse it.
type Effects struct{ List []Effect }

// Reset empties the list and keeps its memory.
func (fx *Effects) Reset() { fx.List = fx.List[:0] }

func (fx *Effects) add(e Effect) { fx.List = append(fx.List, e) }

// tickAfter is how long a machine is silent at most. The merger of the
// histories waits for the slowest of them, so a tick must come well within
// 250 ms.
const tickAfter = 200_000_000

// pen writes a machine's history lines and knows when a tick is due.
type pen struct{ last int64 }

func (p *pen) write(now int64, e history.Event, fx *Effects) {
	e.T = now
	p.last = now
	fx.add(Effect{Kind: FxHistory, History: e})
}

func (p *pen) note(now int64, what string, e history.Event, fx *Effects) {
	e.Ev, e.What = history.Note, what
	p.write(now, e, fx)
}

func (p *pen) tick(now int64, fx *Effects) {
	if now >= p.deadline() {
		p.note(now, history.NoteTick, history.Event{}, fx)
	}
}

func (p *pen) deadline() int64 { return p.last + tickAfter }
