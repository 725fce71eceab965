package journal

import "pestle/broker/plant"

// Covered is what CRCs cover of where something stands: all of it, or, with the
// planted bug stale-records-replayed, not in which file.
func Covered(salt uint64, at Position, bug plant.ID) (uint64, Position) {
	if bug.Is(plant.StaleRecordsReplayed) {
		return 0, Position{Offset: at.Offset}
	}
	return salt, at
}
