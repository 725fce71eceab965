// Package server runs a broker core on an operating system: it owns the
// sockets, the files, the clock and the goroutines that package core must not
// have.
//
//	dir, err := server.OpenDir("/var/lib/pestle")
//	s, err := server.Open(server.Config{
//		Core: core.Config{Limits: nsq.DefaultLimits()}, TCPAddress: "127.0.0.1:4150",
//		HTTPAddress: "127.0.0.1:4151", FS: dir, Clock: server.SystemClock(), Log: slog.Default(),
//	})
//	go func() { <-s.Ready(); fmt.Println("serving", s.TCPAddr()) }()
//	err = s.Run(ctx) // cancelling ctx stops it in order
//
// One goroutine, the loop, steps the core and nothing else does. Everything
// that happens reaches it through one mailbox, drained a batch at a time; a
// batch's effects are carried out after it, so that many frames for one
// connection leave in one write and many publishes share one sync. Nothing
// waits on purpose to make a batch larger. When nothing else waits, the loop
// writes little output for few itself, as far as the network takes it at once:
// a goroutine would have to be woken for it.
//
//	reader  ──EvData──▶ ┌──────┐ ──FxSend──▶ writer     two goroutines a connection
//	writer  ──EvSent──▶ │ loop │ ──FxSync──▶ disk       one, in the order issued
//	disk   ─EvSynced──▶ │      │ ──FxRead──▶ reads      one, beside the disk's
//	HTTP  ─EvRequest──▶ │      │ ──FxReply─▶ HTTP
//	peers ───EvTold───▶ └──────┘ ──FxTell──▶ peers      see package peer
//
// Every queue is bounded by its source: a reader has one block of input under
// way, a peer a window of frames, disk and reads answer what the core asked
// for, the core stops sending to a connection that takes nothing. While the
// disk is behind, readers wait (see loop.behind).
//
// The package never decides anything about messages, and never touches a file
// of the data directory that it did not name.
package server
