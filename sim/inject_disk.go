package sim

import (
	"pestle/faults"
	"pestle/scenarios"
	"pestle/sim/disk"
)

// diskInjection is the table of faults of a broker's disk.
func diskInjection(k faults.Kind) (injection, bool) {
	switch k {
	case faults.DiskFull:
		return diskFault(disk.Full), true
	case faults.DiskSlow:
		return diskFault(disk.Slow), true
	case faults.DiskStuck:
		return diskFault(disk.Stuck), true
	case faults.DiskReadError:
		return diskFault(disk.ReadError), true
	case faults.DiskWriteShort:
		return diskFault(disk.ShortWrite), true
	case faults.FsyncError:
		return diskFault(disk.SyncError), true
	case faults.BitRot:
		return diskFault(disk.BitRot), true
	case faults.MisdirectedWrite:
		return diskFault(disk.Misdirected), true
	case faults.LostWrite:
		return diskFault(disk.LostWrite), true
	}
	return injection{}, false
}

func diskFault(kind disk.Kind) injection {
	return injection{
		begin: func(w *world, _ int64, a *action) {
			f := a.fault
			w.brokerOf(a.process).disk.Inject(disk.Fault{Kind: kind, Permille: f.Rate, Times: f.Count, Factor: f.Factor})
		},
		end: func(w *world, now int64, a *action) {
			b := w.brokerOf(a.process)
			b.disk.Heal(kind)
			if kind == disk.Stuck {
				b.unstick(now)
			}
		},
	}
}

// brokerOf is the broker that runs in a process; the plan's checks leave disk
// faults to brokers.
func (w *world) brokerOf(p *process) *broker { return p.node.(*broker) }

// mayHaveLost reports whether a broker's disk may have lost what it confirmed.
func (w *world) mayHaveLost(p *process) bool {
	return w.plan.Target.Disk == scenarios.DiskLying || w.brokerOf(p).harmed
}

// bites lists what the faults of a disk have changed.
func bites(d *disk.Disk) (list []Bites) {
	for kind := disk.Full; kind <= disk.LostWrite; kind++ {
		if n := d.Bites(kind); n > 0 {
			list = append(list, Bites{kind.String(), n})
		}
	}
	return list
}
