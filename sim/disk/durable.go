package disk

// Kept is a file as it survives.
type Kept struct {
	Name    uint64
	Content []byte
}

// Durable returns what is there after any power loss, by ascending number: the
// files whose directory entry is durable, with their durable bytes. A power loss
// may leave more, of what is pending. Damage of the medium is not in it.
func (d *Disk) Durable() []Kept {
	list := make([]Kept, len(d.durable))
	for i, e := range d.durable {
		list[i] = Kept{e.name, make([]byte, e.file.durableSize)}
		e.file.durable.read(0, list[i].Content)
	}
	return list
}

// Wipe takes every file away, durable or not, as another disk in the place of
// this one would. Its faults stay. It panics while a change is under way: crash
// first.
func (d *Disk) Wipe() {
	if d.underWay.kind != nothing {
		panic("disk: Wipe, and a change is under way: call Crash first")
	}
	d.names, d.durable = nil, nil
	d.forget(func(*operation) bool { return true })
}
