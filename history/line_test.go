package history

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		line  string
		event Event
	}{
		{`{"seq":1,"t":0,"src":"harness","ev":"phase","what":"boot"}`,
			Event{Seq: 1, Src: "harness", Ev: Phase, What: PhaseBoot}},
		{`{"seq":7,"t":123456789,"src":"producer-1","ev":"attempt","id":"producer-1-42","try":1,"topic":"orders","size":512,"sum":"9f86"}`,
			Event{Seq: 7, T: 123456789, Src: "producer-1", Ev: Attempt, ID: "producer-1-42", Try: 1, Topic: "orders", Size: 512, Sum: "9f86"}},
		{`{"seq":8,"t":1,"src":"producer-1","ev":"attempt","id":"producer-1-43","try":1,"topic":"orders","size":512,"sum":"9f86","defer":9223372036854775807}`,
			Event{Seq: 8, T: 1, Src: "producer-1", Ev: Attempt, ID: "producer-1-43", Try: 1, Topic: "orders", Size: 512, Sum: "9f86", Defer: 1<<63 - 1}},
		{`{"seq":3,"t":1,"src":"consumer-ordered-1","ev":"consume","attempts":1,"sum":"9f86","held":2}`,
			Event{Seq: 3, T: 1, Src: "consumer-ordered-1", Ev: Consume, Attempts: 1, Sum: "9f86", Held: 2}},
		{`{"seq":3,"t":1,"src":"consumer-ordered-1","ev":"consume","id":"producer-1-42","topic":"orders","channel":"ordered","consumer":"consumer-ordered-1","pos":"0000100000000007","attempts":2}`,
			Event{Seq: 3, T: 1, Src: "consumer-ordered-1", Ev: Consume, ID: "producer-1-42", Topic: "orders", Channel: "ordered", Consumer: "consumer-ordered-1", Pos: "0000100000000007", Attempts: 2}},
		{`{"seq":18446744073709551615,"t":9223372036854775807,"src":"harness","ev":"fault","what":"kill","target":"broker-1","edge":"effective","ref":3,"text":"a \"quoted\" \\ line\u000aé"}`,
			Event{Seq: 1<<64 - 1, T: 1<<63 - 1, Src: "harness", Ev: Fault, What: "kill", Target: "broker-1", Edge: EdgeEffective, Ref: 3, Text: "a \"quoted\" \\ line\né"}},
	} {
		if got := string(AppendLine(nil, c.event)); got != c.line+"\n" {
			t.Errorf("AppendLine\n got %s\nwant %s", got, c.line)
		}
		if got, err := ParseLine([]byte(c.line)); err != nil || got != c.event {
			t.Errorf("ParseLine(%s)\n got %+v, %v\nwant %+v", c.line, got, err, c.event)
		}
	}
}

// Lines that other tools wrote are read too: white space, any key order,
// every JSON escape.
func TestParseLineTakesEquivalentJSON(t *testing.T) {
	got, err := ParseLine([]byte(" { \"ev\" : \"note\", \"text\":\"\\u00e9\\/\",\t\"src\":\"p\" , \"t\": 5,\"seq\":1 }\r\n"))
	want := Event{Seq: 1, T: 5, Src: "p", Ev: Note, Text: "é/"}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestParseLineNamesTheDamage(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{``, `not a JSON object: the end of the line`},
		{`[]`, `not a JSON object: "[]"`},
		{`{}`, `key "seq" is missing`},
		{`{"seq":1,"src":"p","ev":"ack"}`, `key "t" is missing`},
		{`{"seq":1,"t":1,"ev":"ack"}`, `key "src" is missing`},
		{`{"seq":1,"t":1,"src":"p"}`, `key "ev" is missing`},
		{`{"seq":0,"t":1,"src":"p","ev":"ack"}`, `key "seq": 0, but lines are counted from 1`},
		{`{"seq":1,"t":1,"src":"","ev":"ack"}`, `key "src": empty`},
		{`{"seq":1,"t":1,"src":"p","ev":"acked"}`, `key "ev": unknown event "acked"`},
		{`{"seq":1,"t":1,"src":"p","ev":"ack","body":"x"}`, `key "body": unknown; a line has seq t src`},
		{`{"seq":1,"Seq":1,"t":1,"src":"p","ev":"ack"}`, `key "Seq": unknown`},
		{`{"seq":1,"seq":1,"t":1,"src":"p","ev":"ack"}`, `key "seq": given twice`},
		{`{"seq":"1"}`, `key "seq": want a whole number ≥ 0, not "\"1\"}"`},
		{`{"seq":-1}`, `key "seq": want a whole number ≥ 0, not "-1}"`},
		{`{"seq":1.5}`, `key "seq": want a whole number`},
		{`{"seq":01}`, `key "seq": want a whole number`},
		{`{"seq":18446744073709551616}`, `key "seq": 18446744073709551616 is more than 18446744073709551615`},
		{`{"t":9223372036854775808}`, `key "t": 9223372036854775808 is more than 9223372036854775807`},
		{`{"try":2147483648}`, `key "try": 2147483648 is more than 2147483647`},
		{`{"defer":9223372036854775808}`, `key "defer": 9223372036854775808 is more than 9223372036854775807`},
		{`{"held":2147483648}`, `key "held": 2147483648 is more than 2147483647`},
		{`{"held":1,"defer":1,"defer":1}`, `key "defer": given twice`},
		{`{"src":5}`, `key "src": want a string, not "5}"`},
		{`{"src":"a`, `key "src": the string "\"a" has no end`},
		{`{"src":"a\"`, `key "src": the string "\"a\\\"" has no end`},
		{`{"src":"\x"}`, `key "src": string "\"\\x\""`},
		{"{\"src\":\"\xff\"}", `key "src": string "\"\xff\"" is not UTF-8`},
		{`{"src":"a" "ev":"ack"}`, `want , or } before "\"ev\":\"ack\"}"`},
		{`{"src","ev"}`, `key "src": want : before`},
		{`{"seq":1,}`, `key: want a string, not "}"`},
		{`{"seq":1,"t":1,"src":"p","ev":"ack"}{`, `something follows the object: "{"`},
		{`{"seq":1,"t":1,"src":"p","ev":"ack"`, `want , or } before the end of the line`},
		{strings.Repeat(" ", MaxLine+1), `line of 16385 bytes: at most 16384 are allowed`},
	} {
		if _, err := ParseLine([]byte(c.line)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ParseLine(%.60s)\n got %v\nwant … %s …", c.line, err, c.want)
		}
	}
}

func TestAppendLineCutsText(t *testing.T) {
	e, err := ParseLine(AppendLine(nil, Event{Seq: 1, Src: "p", Ev: Note, Text: strings.Repeat("é", 1000)}))
	if want := strings.Repeat("é", 512); err != nil || e.Text != want {
		t.Errorf("got %d bytes of text, %v, want %d", len(e.Text), err, len(want))
	}
	e, err = ParseLine(AppendLine(nil, Event{Seq: 1, Src: "p", Ev: Note, Text: "a" + strings.Repeat("é", 1000)}))
	if want := "a" + strings.Repeat("é", 511); err != nil || e.Text != want {
		t.Errorf("got %d bytes of text, %v, want %d", len(e.Text), err, len(want))
	}
}

func TestLineRoundTrip(t *testing.T) {
	kinds := []Kind{Attempt, Ack, Fail, Unknown, Consume, Finish, Requeue, Phase, Fault, Note}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 40, 200)
		count := rapid.IntRange(0, 1<<31-1)
		want := Event{
			Seq: rapid.Uint64Min(1).Draw(t, "seq"), T: rapid.Int64Min(0).Draw(t, "t"),
			Src: rapid.StringN(1, 40, 200).Draw(t, "src"), Ev: rapid.SampledFrom(kinds).Draw(t, "ev"),
			ID: text.Draw(t, "id"), Try: count.Draw(t, "try"), Topic: text.Draw(t, "topic"),
			Channel: text.Draw(t, "channel"), Consumer: text.Draw(t, "consumer"), Pos: text.Draw(t, "pos"),
			Attempts: count.Draw(t, "attempts"), Size: count.Draw(t, "size"), Sum: text.Draw(t, "sum"),
			Defer: rapid.Int64Min(0).Draw(t, "defer"), Held: count.Draw(t, "held"),
			What: text.Draw(t, "what"), Target: text.Draw(t, "target"), Edge: text.Draw(t, "edge"),
			Ref: count.Draw(t, "ref"), Text: text.Draw(t, "text"),
		}
		got, err := ParseLine(AppendLine(nil, want))
		if err != nil || got != want {
			t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
		}
	})
}

// FuzzParseLine: no input makes the parser panic, and what it accepts it
// writes and reads back unchanged.
func FuzzParseLine(f *testing.F) {
	f.Add([]byte(`{"seq":7,"t":123456789,"src":"producer-1","ev":"attempt","id":"producer-1-42","try":1,"topic":"orders","size":512,"sum":"9f86"}`))
	f.Add([]byte(`{"seq":1,"t":0,"src":"a\u00e9\ud83d\ude00","ev":"note","text":"\"\\\n"}`))
	f.Add([]byte(`{"seq":1,"t":1,"src":"p","ev":"requeue","defer":50000000,"held":3}`))
	f.Add([]byte(`{"seq":1,"t":1,"src":"p","ev":"ack","ref":`))
	f.Add([]byte("{\"src\":\"\\"))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := ParseLine(line)
		if err != nil {
			return
		}
		e.Text = cut(e.Text)
		again, err := ParseLine(AppendLine(nil, e))
		if err != nil || again != e {
			t.Fatalf("%q\nread as %+v\nagain   %+v, %v", line, e, again, err)
		}
	})
}

func BenchmarkLine(b *testing.B) {
	e := Event{Seq: 7, T: 123456789, Src: "producer-1", Ev: Attempt, ID: "producer-1-42", Try: 1, Topic: "orders", Size: 512, Sum: strings.Repeat("9f", 32)}
	var line []byte
	for b.Loop() {
		line = AppendLine(line[:0], e)
		if _, err := ParseLine(line); err != nil {
			b.Fatal(err)
		}
	}
}
