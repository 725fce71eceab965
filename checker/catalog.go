package checker

// Slugs of the properties, in catalog order: the core seven, and others. A
// property is judged in the file of its name.
const (
	NoDataCorruption  = "no-data-corruption"
	NoPhantomMessages = "no-phantom-messages"
	MessageOrdering   = "message-ordering"
	NoDataLoss        = "no-data-loss"
	ProducerProgress  = "producer-progress"
	ConsumerProgress  = "consumer-progress"
	DeliveryGuarantee = "delivery-guarantee"

	AckFinality = "ack-finality"
	Drain       = "drain"
	FlowControl = "flow-control"
	NotEarly    = "not-early"
	Invariants  = "invariants"
)

// Core returns the slugs of the core seven: what any message queue can be held
// to and every run gives evidence for.
func Core() []string {
	return []string{
		NoDataCorruption, NoPhantomMessages, MessageOrdering, NoDataLoss,
		ProducerProgress, ConsumerProgress, DeliveryGuarantee,
	}
}

// Entry describes one property of the catalog.
type Entry struct {
	Slug      string
	Class     Class
	Statement string // what is promised
	Needs     string // the exposure without which it is inconclusive
}

// Catalog returns the properties that New judges, in catalog order.
func Catalog() []Entry {
	return []Entry{
		{NoDataCorruption, Safety,
			"a message is delivered exactly as it was published",
			"a checked message; with a size menu also one near each of its ends"},
		{NoPhantomMessages, Safety,
			"nothing is consumed that was never attempted",
			"a consumed message"},
		{MessageOrdering, Safety,
			"a message acked before another was sent is first delivered before it, within one partition read by one consumer",
			"an ordered pair that a fault separated"},
		{NoDataLoss, Safety,
			"an acked message is consumed, and again after each requeue, or still stored, on every channel",
			"a proven drain of every channel; an acked message in flight or stored during each fault kind of the plan"},
		{ProducerProgress, Liveness,
			"with faults stopped, every producer gets acks within the recovery bound",
			"for every producer, a quiet window after a fault in which it started a send early enough"},
		{ConsumerProgress, Liveness,
			"with faults stopped, acked messages are delivered on every channel within the recovery bound",
			"for every channel, a quiet window after a fault with a message of its own or a backlog"},
		{DeliveryGuarantee, Safety,
			"one id holds no more positions than it had tries, a position is consumed again only for a recorded cause, and a refused message never appears",
			"a consumed message; at least once: also a retry and a duplicate that was explained"},
		{AckFinality, Safety,
			"a message whose finish had to be durable is not delivered again on that channel, whoever ends or takes over",
			"a finish that was proven durable; where a broker that delivers ended, one that was proven before that or before another took over"},
		{Drain, Liveness,
			"with the producers stopped, the backlog reaches zero within the drain's bound",
			"a drain that came to its end"},
		{FlowControl, Safety,
			"no more messages are in flight to a consumer than its RDY allows",
			"clients that count what is in flight to them; a delivery that filled a window"},
		{NotEarly, Safety,
			"a deferred message, or one given back with a delay, is not delivered before it is due",
			"a delivery of a message that was to be held back, while no clock was set wrong"},
		{Invariants, Safety,
			"nothing is seen inside the target that its design rules out: two leaders of a term, committed entries that change or that no majority has on disk",
			"a world that looks into the target, and a cluster to look at"},
	}
}
