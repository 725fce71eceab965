package network

// Host is where one process lives. The caller numbers them.
type Host uint32

// ConnID names a connection; it is used once in a run. Zero is none.
type ConnID uint64

// End is one of a connection's two.
type End uint8

// The ends of a connection.
const (
	Dialer   End = iota
	Acceptor     //
)

func (e End) other() End { return 1 - e }

// endState is what one end is.
type endState uint8

const (
	absent  endState = iota // not connected yet
	open                    //
	closing                 // closed by its process; what still arrives is dropped
	gone                    // nothing is there: what arrives is answered with a reset, if at all
)

// conn is one connection from its first packet on.
type conn struct {
	id    ConnID
	hosts [2]Host
	ends  [2]endState
	flows [2]flow // flows[e] is what end e sends

	epoch    uint32 // counts resets: what was on its way before one does not arrive
	tries    int    // first packets sent
	dialing  bool   // not answered yet
	listener uint64 // which listener answered
	silent   int64  // until then nothing that is gone answers with a reset
}

// endMark is what a segment says besides its bytes.
type endMark uint8

const (
	noMark    endMark = iota
	openMark          // the connection is complete
	finMark           // the sender has closed
	resetMark         // the sender does not know the connection
)

// segment is a piece of a stream on its way.
type segment struct {
	data []byte
	mark endMark
}

// flow is one direction of a connection.
type flow struct {
	link *link

	pending      [][]byte // not taken by the network yet: the window is full
	pendingBytes int
	used         int  // bytes taken and not read by the other end's process
	finAfter     bool // closed, and pending goes first
	finished     bool // a closing mark was sent: nothing follows

	segs      []segment // on their way, in order
	head      int       // of segs
	scheduled int       // so many of them have an arrival; the others wait for the link
	last      int64     // arrival of the last one scheduled
	round     uint64    // counts reschedulings: arrivals of an earlier one are void

	unread     int    // bytes that have arrived and were not read by the process
	merging    []byte // arrived, and to be read together with what comes next
	mergeSet   bool   // a reading of merging is scheduled
	crediting  bool   // news of what was read is on its way back
	creditHeld bool   // or waits for the link
	unanswered bool   // something arrived where no machine was running
}

func (f *flow) waiting() int { return len(f.segs) - f.head }

// put adds a segment at the end.
func (f *flow) put(s segment) { f.segs = append(f.segs, s) }

// pop takes the first segment, which has arrived.
func (f *flow) pop() segment {
	s := f.segs[f.head]
	f.segs[f.head] = segment{}
	f.head++
	f.scheduled--
	if f.head == len(f.segs) {
		f.segs, f.head = f.segs[:0], 0
	}
	return s
}

// unschedule takes back the arrivals of what is on its way.
func (f *flow) unschedule(now int64) {
	if f.scheduled > 0 {
		f.scheduled, f.last = 0, now
		f.round++
	}
}

// drop forgets everything that is on its way or waits.
func (f *flow) drop() {
	clear(f.segs)
	*f = flow{link: f.link, last: f.last, round: f.round, segs: f.segs[:0]}
}

// dropPending forgets what the network has not taken.
func (f *flow) dropPending() {
	f.pending, f.pendingBytes, f.finAfter = nil, 0, false
}

// dropHeld forgets what the network has taken and not put on the link.
func (f *flow) dropHeld() {
	clear(f.segs[f.head+f.scheduled:])
	f.segs = f.segs[:f.head+f.scheduled]
}
