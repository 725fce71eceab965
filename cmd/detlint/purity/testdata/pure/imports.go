package pure

import (
	_ "context"       // want "ring 0 must not import context: ring 0 runs on one goroutine"
	_ "crypto/rand"   // want "ring 0 must not import crypto/rand: draw from a sim/random stream"
	_ "hash/maphash"  // want "ring 0 must not import hash/maphash: it is neither on the allow-list"
	_ "io/fs"         // want "ring 0 must not import io/fs: return an effect"
	_ "log/slog"      // want "ring 0 must not import log/slog: return an effect"
	_ "math/rand"     // want "ring 0 must not import math/rand: draw from a sim/random stream"
	_ "math/rand/v2"  // want "ring 0 must not import math/rand/v2: draw from a sim/random stream"
	_ "net/http"      // want "ring 0 must not import net/http: return an effect"
	_ "os"            // want "ring 0 must not import os: return an effect"
	_ "reflect"       // want "ring 0 must not import reflect: it is neither"
	_ "runtime"       // want "ring 0 must not import runtime: it is neither"
	_ "sync"          // want "ring 0 must not import sync: ring 0 runs on one goroutine"
	_ "sync/atomic"   // want "ring 0 must not import sync/atomic: ring 0 runs on one goroutine"
	_ "text/template" // want "ring 0 must not import text/template: it is neither"
	_ "unique"        // want "ring 0 must not import unique: it is neither"
	_ "weak"          // want "ring 0 must not import weak: it is neither"

	_ "driver" // want "ring 0 must not import driver: it is neither"
	"encoding/binary"
	"io"
	clock "time" // want "ring 0 must not import time: take the time as an argument"
	u "unsafe"   // want "ring 0 must not import unsafe: it is neither"
)

const timeout = 5 * clock.Second

type address struct {
	at uintptr // want "uintptr in ring 0"
	p  u.Pointer
}

func hostOrder(b []byte) uint64 {
	return binary.NativeEndian.Uint64(b) // want "must not use encoding/binary.NativeEndian: name the byte order"
}

func lockStep() {
	_, _ = io.Pipe() // want "must not use io.Pipe: it waits for another goroutine"
}
