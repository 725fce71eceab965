package disk

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pestle/sim/lot"
	"pestle/sim/random"
)

// A transcript is one command a line, with what it answers behind "=>", when
// that is not "ok":
//
//	create FILE SIZE · write FILE OFFSET TEXT · sync FILE · remove FILE · recycle FILE NEW TEXT
//	  complete at once, or with "&" at the end stay under way
//	read FILE OFFSET N          the bytes; "." is a zero
//	clean FILE OFFSET N         likewise, of CleanBytes
//	damaged FILE OFFSET N       true or false
//	files                       "FILE:SIZE …" or "none"
//	durable                     "FILE:BYTES …" or "none", of Durable
//	wipe                        Wipe
//	inject KIND [permille=N] [times=N] [factor=N] · heal KIND|all · bites KIND
//	kill · power N              Crash; of a power loss the first N operations are kept
//
// TEXT "x*600" is 600 times x; in answers, a run of 9 or more is "x*600" too.
func play(t *testing.T, d *Disk, transcript string) {
	t.Helper()
	for line := range strings.Lines(transcript) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		command, want, found := strings.Cut(line, " => ")
		if !found {
			want = "ok"
		}
		if got := do(t, d, strings.Fields(command)); got != want {
			t.Fatalf("%s\n got: %s\nwant: %s", command, got, want)
		}
	}
}

func do(t *testing.T, d *Disk, words []string) string {
	t.Helper()
	underWay := words[len(words)-1] == "&"
	args := words[1:]
	if underWay {
		args = args[:len(args)-1]
	}
	n := func(i int) int64 { return number(t, args[i]) }
	name := func() uint64 { return uint64(n(0)) }
	change := func(out Outcome) string {
		if !out.Stuck && !underWay {
			d.Complete()
		}
		return describe(out)
	}
	switch words[0] {
	case "create":
		return change(d.Create(name(), n(1)))
	case "write":
		return change(d.Write(name(), n(1), []byte(long(t, args[2]))))
	case "sync":
		return change(d.Sync(name()))
	case "remove":
		return change(d.Remove(name()))
	case "recycle":
		return change(d.Recycle(name(), uint64(n(1)), []byte(long(t, args[2]))))
	case "read":
		return describe(d.Read(name(), n(1), n(2)))
	case "clean":
		p, ok := d.CleanBytes(name(), n(1), n(2))
		if !ok {
			return "none"
		}
		return short(p)
	case "damaged":
		return fmt.Sprint(d.Damaged(name(), n(1), n(2)))
	case "files":
		var list []string
		for _, f := range d.Files() {
			size, _ := d.Size(f)
			list = append(list, fmt.Sprintf("%d:%d", f, size))
		}
		if list == nil {
			return "none"
		}
		return strings.Join(list, " ")
	case "durable":
		list := []string{}
		for _, f := range d.Durable() {
			list = append(list, fmt.Sprintf("%d:%s", f.Name, short(f.Content)))
		}
		return cmp.Or(strings.Join(list, " "), "none")
	case "wipe":
		d.Wipe()
	case "inject":
		d.Inject(faultOf(t, args))
	case "heal":
		if args[0] == "all" {
			d.HealAll()
		} else {
			d.Heal(kindOf(t, args[0]))
		}
	case "bites":
		return fmt.Sprint(d.Bites(kindOf(t, args[0])))
	case "kill":
		d.Crash(Kill)
	case "power":
		d.interrupt()
		d.losePower(lot.Lot{Policy: lot.Prefix, First: int(n(0)), N: len(d.pending)})
	default:
		t.Fatalf("no such command: %s", words[0])
	}
	return "ok"
}

func describe(out Outcome) string {
	switch {
	case out.Stuck:
		return "stuck"
	case out.Failed:
		return out.Text
	case out.Data != nil:
		return short(out.Data)
	}
	return "ok"
}

func faultOf(t *testing.T, args []string) Fault {
	f := Fault{Kind: kindOf(t, args[0])}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "permille":
			f.Permille = number(t, value)
		case "times":
			f.Times = number(t, value)
		case "factor":
			f.Factor = number(t, value)
		default:
			t.Fatalf("no such parameter: %s", arg)
		}
	}
	return f
}

func kindOf(t *testing.T, word string) Kind {
	t.Helper()
	for k := range kinds {
		if k.String() == word {
			return k
		}
	}
	t.Fatalf("no such fault: %s", word)
	return 0
}

func number(t *testing.T, word string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// long reads TEXT, short writes it.
func long(t *testing.T, text string) string {
	var out strings.Builder
	for part := range strings.SplitSeq(text, "+") {
		letter, times, found := strings.Cut(part, "*")
		if !found {
			times = "1"
		}
		out.WriteString(strings.Repeat(letter, int(number(t, times))))
	}
	return strings.ReplaceAll(out.String(), ".", "\x00")
}

func short(p []byte) string {
	var parts []string
	plain := ""
	flush := func() {
		if plain != "" {
			parts = append(parts, plain)
		}
		plain = ""
	}
	for run := 0; len(p) > 0; p = p[run:] {
		for run = 1; run < len(p) && p[run] == p[0]; run++ {
		}
		letter := string(p[:1])
		if p[0] == 0 {
			letter = "."
		}
		if run < 9 {
			plain += strings.Repeat(letter, run)
			continue
		}
		flush()
		parts = append(parts, fmt.Sprintf("%s*%d", letter, run))
	}
	flush()
	return strings.Join(parts, "+")
}

// instant makes a disk on which everything takes no time.
func instant(seed uint64) *Disk { return New(random.New(seed, "disk"), Options{}) }

// content is what a restarted node finds, as a key of a map.
func content(d *Disk) string {
	var out strings.Builder
	for _, name := range d.Files() {
		p, _ := d.Content(name)
		fmt.Fprintf(&out, "%d[%s] ", name, short(p))
	}
	return strings.TrimSpace(out.String())
}
