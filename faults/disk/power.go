package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"pestle/sim/lot"
	"pestle/sim/random"
)

// PowerLoss takes the current away: no operation returns any more, and the
// real files are rolled back to a state that the rules allow. seed decides
// which. A second call changes nothing and returns no loss. The process has to
// be killed afterwards; if it is killed meanwhile, the next one's Open does
// the rest.
func (d *Dir) PowerLoss(seed uint64) (Loss, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.frozen {
		return Loss{}, nil
	}
	d.frozen = true
	l := lot.Draw(random.New(seed, "power-loss"), len(d.m.Pending))
	if err := d.ledger.append(&record{Lost: &l}); err != nil {
		return Loss{}, err
	}
	loss := d.m.lose(l)
	if err := d.rollBack(); err != nil {
		return loss, err
	}
	return loss, d.ledger.rewrite(d.m)
}

// Lost tells that the power was lost.
func (d *Dir) Lost() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.frozen
}

// rollBack makes the real files what the medium has. Done in part, it can be
// done again.
func (d *Dir) rollBack() error {
	for _, file := range d.m.survivors() {
		if err := d.rollBackFile(file); err != nil {
			return fmt.Errorf("roll a file back after a power loss: %w", err)
		}
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(d.m.Names)), maps.Keys(d.m.Durable))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := d.rollBackName(name); err != nil {
			return fmt.Errorf("roll a name back after a power loss: %w", err)
		}
	}
	before := slices.Collect(maps.Keys(d.m.Files))
	d.m.settle()
	for _, file := range before {
		if d.m.Files[file] == nil {
			if err := os.Remove(d.link(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("let a lost file go: %w", err)
			}
		}
	}
	return nil
}

func (d *Dir) rollBackFile(file uint64) error {
	node := d.m.Files[file]
	f, err := os.OpenFile(d.link(file), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	for _, s := range slices.Sorted(maps.Keys(node.Base)) {
		if _, err := f.WriteAt(whole(node.Base[s]), s*sectorSize); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(f.Truncate(node.DurableSize), f.Close())
}

func (d *Dir) rollBackName(name string) error {
	file := d.m.Durable[name]
	info, err := os.Lstat(d.name(name))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case file == 0 && err != nil, err == nil && file != 0 && d.is(file, info):
		return nil
	case file == 0:
		return os.Remove(d.name(name))
	default:
		return d.place(file, name)
	}
}
