// Package disk is a data directory whose disk fails: real files under the
// faults of the catalog, for a broker that runs as a real process. It is the
// counterpart of sim/disk and keeps to the rules in that package's comment:
// what a fault does, and what a power loss may leave.
//
// It owns what is durable and what is only written, the faults of the system
// calls and of the medium, and the loss of power. It never decides when a fault
// happens, and it draws only from the seeds it is given.
//
// # Written and durable
//
// What is written goes to the real file at once, so that a killed process
// loses nothing. What a power loss could take is remembered until it is synced:
//
//	base     of each sector that differs from the medium, what the medium has
//	pending  operations in their order that are written and not durable:
//	         changes of the directory, and writes with what they made of each
//	         sector they touch
//	links    each file has a second name, its number, in the directory .chaos:
//	         a removed file can come back while its removal is not durable
//
// All this is also kept in .chaos/ledger, so that it outlives a kill: bytes
// whose sync failed are still not durable in the next process, and damage can
// still be healed. A power loss rolls the real files back, and from then on no
// operation returns: the process has to be killed.
//
// Entries of names that a rename joined are kept or lost together, as a file
// system with a journal does; sim/disk has no renames.
//
// # Example
//
//	d, err := disk.Open("/var/lib/pestle", disk.Options{})
//	f, err := d.Create("journal-1.log")
//	err = d.Impose(faults.Fault{Ref: 3, Kind: faults.FsyncError, Count: 1}, seed)
//	err = f.Sync() // input/output error: what was written is not durable, and nobody tells again
//	bites := d.Lift(3)
//	loss, err := d.PowerLoss(seed) // now kill the process
package disk
