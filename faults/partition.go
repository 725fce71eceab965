package faults

import "slices"

// partition splits the network: some processes cannot reach some others. It
// takes effect at once on all links; what is on its way over a link that is
// cut waits like a lost packet, and is sent again when the partition is healed.
func partition() Spec {
	return Spec{
		Kind:     Partition,
		Class:    OfNetwork,
		Does:     "the processes are split as the shape says; nothing passes between those that are apart, and nobody is told",
		Imitates: "a switch, a cable or a route that fails",
		Survives: "sends time out and are unknown; whoever still reaches the broker goes on; afterwards all go on",
		ForIs:    "from the split to its healing",
		MinFor:   millisecond,
		MaxFor:   10 * minute,
		Params: []Param{
			{Name: "shape", Unit: NoNumber, Is: "who is apart from whom"},
			{Name: "side", Unit: NoNumber, Is: "drawn: processes on one side, or around the ring", Optional: true},
			{Name: "among", Unit: NoNumber, Is: "who takes part: of a cluster, where the target is a broker, the brokers only", Optional: true},
		},
		Worlds: simAndDocker(),
		Roles:  everyRole(),
	}
}

// Shape says who is apart from whom in a partition.
type Shape string

// The shapes.
const (
	Halves  Shape = "halves"  // those of Side, the target among them, from all others
	Isolate Shape = "isolate" // the target from all others
	Ring    Shape = "ring"    // all from all but their two neighbours in Side, a circle of all processes that begins with the target
	Bridge  Shape = "bridge"  // those of Side from the others; the target, on no side, reaches all
	OneWay  Shape = "one-way" // nothing from the target arrives; it hears all others

	Majority Shape = "majority" // Halves of a cluster: a bare majority of the brokers, the target among them, from the others
	Minority Shape = "minority" // Halves of a cluster: the largest minority, the target among them, from the others
)

// splits tells whether Side is one of two halves and has the target in it.
func (s Shape) splits() bool { return s == Halves || s == Majority || s == Minority }

// Form describes a shape, for the scenario loader and for people.
type Form struct {
	Shape  Shape
	Does   string
	SideIs string // what Fault.Side holds; "" for nothing

	// Brokers tells that it is about the brokers of a cluster: clients take no
	// part.
	Brokers bool
}

// Shapes is the table of shapes.
func Shapes() []Form {
	return []Form{
		{Shape: Halves, Does: "two halves cannot reach each other", SideIs: "the half with the target"},
		{Shape: Isolate, Does: "nobody reaches the target, and it reaches nobody"},
		{Shape: Ring, Does: "all stand in a circle and each reaches its two neighbours only", SideIs: "all around the circle, the target first"},
		{Shape: Bridge, Does: "two halves cannot reach each other, but the target reaches both", SideIs: "one half"},
		{Shape: OneWay, Does: "what the target sends arrives nowhere; what others send to it arrives"},
		{Shape: Majority, Does: "a bare majority of the brokers, the target among them, and the others cannot reach each other", SideIs: "the majority", Brokers: true},
		{Shape: Minority, Does: "the largest minority of the brokers, the target among them, and the others cannot reach each other", SideIs: "the minority", Brokers: true},
	}
}

// FindShape returns the description of a shape.
func FindShape(s Shape) (Form, bool) {
	for _, f := range Shapes() {
		if f.Shape == s {
			return f, true
		}
	}
	return Form{}, false
}

// Hits tells whether a fault of the network is on what one process sends to
// another. Both names are processes, and so are the fault's target and peer.
func (f Fault) Hits(from, to string) bool {
	if f.Kind == Partition {
		return f.Severs(from, to)
	}
	if spec, _ := Find(f.Kind); spec.Among != "" && (roleOf(from) != spec.Among || roleOf(to) != spec.Among) {
		return false
	}
	touches := from != to && (from == f.Target || to == f.Target)
	return touches && (f.Peer == "" || from == f.Peer || to == f.Peer)
}

// Severs tells whether a partition keeps what one process sends from arriving
// at another one.
func (f Fault) Severs(from, to string) bool {
	if from == to || f.Among != "" && (roleOf(from) != f.Among || roleOf(to) != f.Among) {
		return false
	}
	switch f.Shape {
	case Halves, Majority, Minority:
		return slices.Contains(f.Side, from) != slices.Contains(f.Side, to)
	case Isolate:
		return from == f.Target || to == f.Target
	case Ring:
		return !neighbours(f.Side, from, to)
	case Bridge:
		return from != f.Target && to != f.Target && slices.Contains(f.Side, from) != slices.Contains(f.Side, to)
	case OneWay:
		return from == f.Target
	}
	return false
}

// neighbours tells whether two stand beside each other in a circle.
func neighbours(circle []string, a, b string) bool {
	i, j := slices.Index(circle, a), slices.Index(circle, b)
	if i < 0 || j < 0 {
		return false
	}
	return (i+1)%len(circle) == j || (j+1)%len(circle) == i
}
