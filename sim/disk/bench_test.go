package disk

import "testing"

// BenchmarkBatches writes a journal as a broker does: 200 bytes, then a sync.
func BenchmarkBatches(b *testing.B) {
	d := instant(1)
	batch := make([]byte, 200)
	const size = 16 << 20
	at, name := int64(size), uint64(0)
	for b.Loop() {
		if at+200 > size {
			if name++; name > 1 {
				d.Remove(name - 1)
				d.Complete()
			}
			d.Create(name, size)
			d.Complete()
			at = 0
		}
		d.Write(name, at, batch)
		d.Complete()
		d.Sync(name)
		d.Complete()
		at += 200
	}
	b.ReportAllocs()
}

// BenchmarkPowerLoss loses the power with eight writes pending in a file of
// 16 MiB.
func BenchmarkPowerLoss(b *testing.B) {
	d := instant(1)
	d.Create(1, 16<<20)
	d.Complete()
	for i := range int64(4000) {
		d.Write(1, i*4096, make([]byte, 4096))
		d.Complete()
	}
	d.Sync(1)
	d.Complete()
	batch := make([]byte, 700)
	for b.Loop() {
		for i := range int64(8) {
			d.Write(1, i*700, batch)
			d.Complete()
		}
		d.Crash(PowerLoss)
	}
	b.ReportAllocs()
}
