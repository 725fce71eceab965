package lot

import "testing"

// TestCutsAreOftenWhole: with many operations pending, a part still keeps
// everything, or nothing, a quarter of the time each.
func TestCutsAreOftenWhole(t *testing.T) {
	all, none := 0, 0
	for i := range uint64(4000) {
		switch (Lot{Policy: Paged, Key: 1, N: 1000}).Sector(1, int64(i)*PageSize/SectorSize) {
		case 0:
			none++
		case 1000:
			all++
		}
	}
	if min(all, none) < 900 || max(all, none) > 1100 {
		t.Errorf("of 4000 parts %d keep everything and %d nothing", all, none)
	}
}
