package checker

// quietWindow is the stretch in which the liveness properties are judged: from
// PhaseQuiet, or from the end of the last fault if that comes later, to
// PhaseQuietEnd. A fault that takes effect inside spoils the window, and one
// with no effective fault before it proves nothing.
type quietWindow struct {
	announced bool  // between PhaseQuiet and PhaseQuietEnd
	spoiled   bool  // by a fault since PhaseQuiet
	open      bool  // judged right now
	start     int64 // of the judged part
	stood     bool  // the machine stood still in it: what did not happen accuses nobody
}

// noWindow is what the liveness properties miss in a run in which no window
// was judged.
func (r *run) noWindow() string {
	if r.cfg.Recovery <= 0 {
		return "no recovery bound is known to judge by"
	}
	return "no quiet window was completed after a fault"
}

// announce begins a window.
func (q *quietWindow) announce() { *q = quietWindow{announced: true} }

// settle opens an announced window once no fault is active, and reports
// whether it did.
func (q *quietWindow) settle(l *faultLog, now int64) bool {
	if !q.announced || q.spoiled || q.open || len(l.running) > 0 || l.effective == 0 {
		return false
	}
	q.open, q.start = true, now
	return true
}

// spoil gives the window up, if there is one.
func (q *quietWindow) spoil() { q.spoiled, q.open = true, false }

// holds reports that t lies in the open window.
func (q *quietWindow) holds(t int64) bool { return q.open && t >= q.start }
