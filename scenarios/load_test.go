package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// smallest is a scenario with nothing but the keys that have no default.
const smallest = `name: small
workload:
  channels: [{name: all}]
phases: {chaos: 40s, quiet: {every: 15s, for: 5s}}
`

// with returns the smallest scenario with its n-th line replaced.
func with(n int, line string) string {
	lines := strings.Split(smallest, "\n")
	lines[n-1] = line
	return strings.Join(lines, "\n")
}

func TestMistakesInAFile(t *testing.T) {
	const top = "name, about, worlds, target, network, workload, phases, faults, properties, claims"
	for _, c := range []struct{ name, source, want string }{
		// Keys.
		{"key", smallest + "fault: []\n", `5:1: unknown key "fault" in the scenario; did you mean "faults"? allowed: ` + top},
		{"key far from any", smallest + "zzzzzzzz: 1\n", `5:1: unknown key "zzzzzzzz" in the scenario; allowed: ` + top},
		{"key further in", with(2, "workload:\n  send: {timout: 2s}"), `3:10: unknown key "timout" in workload.send; did you mean "timeout"? allowed: timeout, tries, backoff`},
		{"key in a list", with(3, "  channels: [{name: all, inflight: 3}]"), `3:26: unknown key "inflight" in workload.channels.0; did you mean "in_flight"? allowed: name, consumers, in_flight, requeue, requeue_delay, forget`},
		{"key twice", smallest + "name: other\n", `5:1: key "name" stands twice in the scenario, first at s.yaml:1:1`},
		{"key missing", with(1, ""), `2:1: key "name" is missing in the scenario; write 1 to 64 of a-z, 0-9 and '-', beginning with a letter`},
		{"key missing in a list", smallest + "faults:\n  - {target: broker, for: 1s}\n", `6:6: key "kind" is missing in faults.0; write one of ` + strings.Join(keyChoices("faults[].kind"), ", ")},
		{"key without value", smallest + "about:\n", `5:1: key "about" has no value; leave it out to get its default`},
		{"key that is no word", smallest + "1: x\n", `5:1: a key has to be a plain word`},

		// Types.
		{"list for a mapping", with(4, "phases: [40s]"), `4:9: phases is a list; write a mapping of keys`},
		{"mapping for a list", smallest + "faults: {kind: kill}\n", `5:10: faults is a mapping; write a list of mappings`},
		{"text in a list of mappings", smallest + "faults: [kill]\n", `5:10: faults.0 is "kill"; write a mapping of keys`},
		{"list for a text", with(1, "name: [a]"), `1:7: name is a list; write 1 to 64 of a-z, 0-9 and '-', beginning with a letter`},
		{"number for a text", with(1, "name: 12"), `1:7: name is 12, which YAML takes for a number or truth value; write it in quotes`},
		{"text for a number", with(2, "workload:\n  producers: {count: '3'}"), `3:22: workload.producers.count is a text; write the number without quotes`},
		{"fraction for a number", with(2, "workload:\n  producers: {count: 1.5}"), `3:22: workload.producers.count is "1.5"; write a whole number, 1..64`},
		{"negative number", with(2, "workload:\n  producers: {count: -1}"), `3:22: workload.producers.count is "-1"; write a whole number, 1..64`},
		{"text for a list", smallest + "worlds: process\n", `5:9: worlds is "process"; write a list of sim, process, docker`},

		// Units.
		{"duration without unit", with(4, "phases: {chaos: 40}"), `4:17: phases.chaos is "40"; write a whole number with its unit us, ms, s, m or h such as 300ms, 1s..24h`},
		{"duration with another unit", with(4, "phases: {chaos: 40sec}"), `4:17: phases.chaos is "40sec"; write a whole number with its unit us, ms, s, m or h such as 300ms, 1s..24h`},
		{"range for a single duration", with(4, "phases: {chaos: 40s..50s}"), `4:17: phases.chaos is "40s..50s"; write a whole number with its unit us, ms, s, m or h such as 300ms, 1s..24h`},
		{"range with one unit", smallest + "faults:\n  - {kind: kill, target: broker, for: 100..200ms}\n", `6:39: faults.0.for is "100..200ms"; write a whole number with its unit us, ms, s, m or h such as 300ms or a range such as 300ms..2s, 0s..10m`},
		{"rate without unit", with(2, "workload:\n  producers: {rate: 80}"), `3:21: workload.producers.rate is "80"; write whole messages per second such as 80/s or a range such as 20/s..80/s, 1/s..10000/s`},
		{"share without percent", with(3, "  channels: [{name: all, requeue: 1}]"), `3:35: workload.channels.0.requeue is "1"; write a percentage such as 1% or 0.5% or a range such as 0.5%..20%, 0%..50%`},
		{"share finer than permille", with(3, "  channels: [{name: all, requeue: 0.25%}]"), `3:35: workload.channels.0.requeue is "0.25%"; write a percentage such as 1% or 0.5% or a range such as 0.5%..20%, 0%..50%`},

		{"bytes with another unit", with(2, "workload:\n  payload: 1KB"), `3:12: workload.payload is "1KB"; write a number of bytes such as 100 or 64KiB or a range such as 100..1099, 1..900000`},
		{"drift without unit", smallest + "faults:\n  - {kind: clock-drift, target: broker, for: 1s, drift: 200}\n", `6:57: faults.0.drift is "200"; write parts per million such as 200ppm or a range such as -200ppm..200ppm, -100000ppm..100000ppm`},
		{"offset without unit", smallest + "faults:\n  - {kind: clock-jump, target: broker, for: 1s, offset: -2}\n", `6:57: faults.0.offset is "-2"; write a whole number with its unit us, ms, s, m or h such as 300ms or -2s or a range such as -2s..2s, -24h..24h`},
		{"range for a chance", smallest + "faults:\n  - {kind: kill, target: broker, for: 1s, chance: 10%..20%}\n", `6:51: faults.0.chance is "10%..20%"; write a percentage such as 1% or 0.5%, 0%..100%`},

		// Ranges.
		{"number too large", with(2, "workload:\n  producers: {count: 65}"), `3:22: workload.producers.count is 65; allowed: 1..64`},
		{"duration too short", with(2, "workload:\n  msg_timeout: 999ms"), `3:16: workload.msg_timeout is 999ms; allowed: 1s..15m`},
		{"duration too long to count", with(4, "phases: {chaos: 999999999999999h}"), `4:17: phases.chaos is "999999999999999h"; write a whole number with its unit us, ms, s, m or h such as 300ms, 1s..24h`},
		{"one end out of range", with(2, "workload:\n  payload: 0..100"), `3:12: workload.payload is 0..100; allowed: 1..900000`},
		{"range upside down", with(2, "workload:\n  payload: 100..1"), `3:12: workload.payload is 100..1, a range that ends before it begins`},
		{"list too short", with(3, "  channels: []"), `3:13: workload.channels has 0 items; allowed: 1..16`},
		{"empty choice", smallest + "properties: []\n", `5:13: properties has 0 items; allowed: 1..12`},

		// Names.
		{"choice", smallest + "target: {kind: pestel}\n", `5:16: target.kind is "pestel"; did you mean "pestle"? allowed: pestle, nsq`},
		{"choice in a list", smallest + "claims: [unknown-later-sen]\n", `5:10: claims: unknown "unknown-later-sen"; did you mean "unknown-later-seen"? allowed: ` + strings.Join(keyChoices("claims"), ", ")},
		{"choice twice", smallest + "worlds: [process, process]\n", `5:19: worlds: "process" stands there twice`},
		{"property twice", smallest + "properties: [no-data-loss, no-data-loss]\n", `5:28: properties: "no-data-loss" stands there twice`},
		{"scenario name", with(1, "name: First Light"), `1:7: name is "First Light"; write 1 to 64 of a-z, 0-9 and '-', beginning with a letter`},
		{"topic", with(2, "workload:\n  topic: a/b"), `3:10: workload.topic is "a/b"; write 1 to 64 letters, digits, '.', '_' and '-'`},
		{"flag", smallest + "target: {kind: nsq, flags: [sync-every=1]}\n", `5:29: target.flags is "sync-every=1"; write a list of flags such as --sync-every=1`},
		{"address", smallest + "target: {kind: nsq, address: localhost}\n", `5:30: target.address is "localhost"; write host:port`},

		// YAML.
		{"empty file", "", `1:1: nothing there`},
		{"comment only", "# nothing\n", `1:1: nothing there`},
		{"no mapping", "- a\n", `1:1: a scenario is a mapping of keys such as name, workload and faults`},
		{"syntax", "name: [a\n", `1:7: no valid YAML: sequence end token ']' not found`},
		{"anchor", with(1, "name: &n small\nabout: *n"), `1:7: anchors, aliases, tags and merge keys are not for scenarios; write the value out`},
		{"tag", with(1, "name: !!str small"), `1:7: anchors, aliases, tags and merge keys are not for scenarios; write the value out`},
		{"two documents", smallest + "---\nname: other\n", `6:5: a second YAML document; a scenario is one`},
		{"too deep", "a: " + strings.Repeat("[", 20) + strings.Repeat("]", 20), `1:19: nested deeper than any key`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("s.yaml", []byte(c.source), nil)
			expectError(t, err, "s.yaml:"+c.want)
		})
	}
}

func TestContradictionsInAFile(t *testing.T) {
	fault := func(lines ...string) string {
		return smallest + "faults:\n  - " + strings.Join(lines, "\n  - ") + "\n"
	}
	const freeze = "{name: freeze, kind: pause, target: broker, for: 1s}"
	for _, c := range []struct{ name, source, want string }{
		{"durability of nsqd", smallest + "target: {kind: nsq, durability: fsync}\n", `5:33: target.durability is for kind pestle; nsqd is set by target.flags`},
		{"address of pestle", smallest + "target: {address: \"localhost:4150\"}\n", `5:19: target.address is for kind nsq`},
		{"http of pestle", smallest + "target: {http: \"localhost:4151\"}\n", `5:16: target.http is for kind nsq`},
		{"address alone", smallest + "target: {kind: nsq, address: \"localhost:4150\"}\n", `5:30: target.address needs target.http beside it: the drain is proven by nsqd's statistics`},
		{"http alone", smallest + "target: {kind: nsq, http: \"localhost:4151\"}\n", `5:27: target.http needs target.address beside it`},
		{"flags of a running nsqd", smallest + "target: {kind: nsq, address: \"a:1\", http: \"a:2\", flags: [-x]}\n", `5:57: target.flags are for an nsqd that Pestle starts; the one at target.address runs already`},
		{"faults of a running nsqd", fault(freeze) + "target: {kind: nsq, address: \"a:1\", http: \"a:2\"}\n", `6:3: faults cannot be: Pestle does not touch the nsqd at target.address; leave target.address out to have one started`},

		{"channel twice", with(3, "  channels: [{name: a}, {name: a}]"), `3:32: workload.channels.1.name is a like that of an earlier channel`},
		{"channels after chaos", strings.Replace(with(2, "workload:\n  consume: after-chaos"), "{name: all}", "{name: a}, {name: b}", 1), `4:13: workload.channels are 2, but with workload.consume: after-chaos there can be one: the first channel that is made gets the topic's backlog, the next one nothing`},
		{"retries at most once", with(2, "workload:\n  delivery: at-most-once\n  send: {tries: 2}"), `4:17: workload.send.tries is 2, but at-most-once never sends a message twice; leave it out`},
		{"warm-up out of reach", with(4, "phases: {warm_up: {acks: 501}, chaos: 40s, quiet: {every: 15s, for: 5s}}"), `4:26: phases.warm_up.acks is 501, but 1 producers at 50/s send only 500 messages in 10s`},
		{"drain shorter than the tries", with(4, "phases: {drain: 4s, chaos: 40s, quiet: {every: 15s, for: 5s}}"), `4:17: phases.drain is 4s, but a producer may need 4350ms to resolve its open sends (tries, timeout and backoff of workload.send)`},

		{"drain shorter than what waits", strings.Replace(smallest, "phases: {", "  defer: {share: 1%, by: 1s..6s}\n  send: {tries: 1}\nphases: {drain: 6999ms, ", 1), `6:17: phases.drain is 6999ms, but the last messages may need 7s: to be sent, and then to wait until their deferral, requeue_delay or, when forgotten, msg_timeout is over`},
		{"drain shorter than a forgotten message waits", strings.Replace(smallest, "[{name: all}]\nphases: {", "[{name: all, in_flight: 2, forget: 1%, requeue: 1%, requeue_delay: 2s}]\n  msg_timeout: 1s..9s\n  defer: {share: 0%..1%, by: 1s..6s}\n  send: {tries: 1}\nphases: {drain: 15999ms, ", 1), `7:17: phases.drain is 15999ms, but the last messages may need 16s: to be sent, and then to wait until their deferral, requeue_delay or, when forgotten, msg_timeout is over`},
		{"deferral in microseconds", with(2, "workload:\n  defer: {share: 1%, by: 1ms..1500us}"), `3:26: workload.defer.by is not in whole milliseconds, which is what NSQ counts in`},
		{"forgetting with one in flight", with(3, "  channels: [{name: all, forget: 1%}]"), `3:34: workload.channels.0.forget is up to 1%, but with in_flight: 1 a forgotten message would hold up all others; allow 2`},
		{"nothing is held back", smallest + "properties: [not-early]\n", `5:13: properties contain not-early, but nothing is held back: set workload.defer, or requeue and requeue_delay of a channel`},
		{"flow control in the process world", smallest + "properties: [flow-control]\n", `5:13: properties cannot be with this list of worlds: the clients of the world process do not tell what they hold, so flow-control cannot be judged`},

		{"quiet without end", with(4, "phases: {chaos: 40s, quiet: {every: 5s, for: 5s}}"), `4:46: phases.quiet.for is 5s, but a window begins every 5s; make it shorter`},
		{"recovery longer than quiet", with(4, "phases: {chaos: 40s, quiet: {every: 15s, for: 5s}, recovery: 5s}"), `4:62: phases.recovery is 5s, but a quiet window lasts only 5s: nothing could be judged in it`},
		{"no quiet window", with(4, "phases: {chaos: 19s, quiet: {every: 15s, for: 5s}}"), `4:17: phases.chaos is 19s and ends before the first quiet window (15s to 20s), where the progress properties are judged; make it longer, make phases.quiet.every shorter or leave those properties out`},

		{"progress without consumers", with(2, "workload:\n  consume: after-chaos"), `1:1: properties contain consumer-progress, but with workload.consume: after-chaos nothing is consumed in a quiet window; list the other properties`},
		{"claim without consumers", with(2, "workload:\n  consume: after-chaos") + "properties: [no-data-loss]\nclaims: [consumer-resumed-after-kill]\n", `7:9: claims contain consumer-resumed-after-kill, but with workload.consume: after-chaos no consumer runs while faults are active`},
		{"claim of retries at most once", with(2, "workload:\n  delivery: at-most-once") + "claims: [retried-failed-send]\n", `6:9: claims contain retried-failed-send, but with at-most-once nothing is sent twice`},

		{"too many", fault("{kind: kill, target: broker, times: 500, for: 1s}", "{kind: stop, target: broker, times: 1..501, for: 1s}"), `6:3: faults happen up to 1001 times together; a plan holds 1000`},
		{"length of a kind", fault("{kind: pause, target: broker, for: 5ms..20ms}"), `6:40: faults.0.for is 5ms..20ms; allowed for a pause: 10ms..10m`},
		{"target", fault("{kind: kill, target: brokr, for: 1s}"), `6:26: faults.0.target is "brokr"; did you mean "broker"? allowed: broker, producer, consumer, consumer-all, broker-1, producer-1, consumer-all-1`},
		{"target that is not there", fault("{kind: kill, target: producer-2, for: 1s}"), `6:26: faults.0.target is "producer-2"; did you mean "producer-1"? allowed: broker, producer, consumer, consumer-all, broker-1, producer-1, consumer-all-1`},
		{"target that does not run", with(2, "workload:\n  consume: after-chaos") + "properties: [no-data-loss]\nfaults: [{kind: kill, target: consumer-all-1, for: 1s}]\n", `7:31: faults.0.target is consumer-all-1, but with workload.consume: after-chaos no consumer runs while faults are active`},
		{"medium of one copy", fault("{kind: bit-rot, target: broker, for: 1s, count: 1}"), `6:12: faults.0.kind is bit-rot, and 1 broker holds 1 copy of a message: what the medium loses is lost, and that is no fault of the broker: require properties: [no-data-corruption], which a clean refusal meets, or leave the line out`},
		{"no length", fault("{kind: kill, target: broker}"), `6:6: faults.0.for is missing: from the end of the process to its restart; allowed for a kill: 0s..10m`},
		{"length of what is over at once", fault("{kind: reset, target: broker, for: 1s}"), `6:40: faults.0.for is not for a reset: it is over at once`},
		{"parameter of another kind", fault("{kind: kill, target: broker, for: 1s, factor: 3}"), `6:51: faults.0.factor is not for a kill`},
		{"parameter missing", fault("{kind: disk-slow, target: broker, for: 1s}"), `6:6: faults.0.factor is missing: how many times as long; allowed for a disk-slow: 2..10000`},
		{"parameter out of its kind's bounds", fault("{kind: latency, target: broker, for: 1s, delay: 0ms..1s}"), `6:53: faults.0.delay is 0s..1s; allowed for a latency: 1us..1m`},
		{"peer of another kind", fault("{kind: kill, target: broker, for: 1s, peer: producer}"), `6:49: faults.0.peer is not for a kill`},
		{"peer missing", fault("{kind: cut, target: broker, for: 1s}"), `6:6: faults.0.peer is missing in a cut: the process at the other end`},
		{"peer that is not there", fault("{kind: cut, target: broker, for: 1s, peer: producr}"), `6:48: faults.0.peer is "producr"; did you mean "producer"? allowed: broker, producer, consumer, consumer-all, broker-1, producer-1, consumer-all-1`},
		{"peer that is the target", fault("{kind: cut, target: broker, for: 1s, peer: broker-1}"), `6:48: faults.0.peer is broker-1, the target itself; name another`},
		{"shape missing", fault("{kind: partition, target: broker, for: 1s}"), `6:6: faults.0.shape is missing in a partition: who is apart from whom`},
		{"role of another kind", fault("{kind: power-loss, target: producer, for: 1s}"), `6:32: faults.0.target is producer, but a power-loss does not apply to a producer`},
		{"point", fault("{kind: kill, target: broker, for: 1s, after: {point: jurnal-sync}}"), `6:58: faults.0.after.point is "jurnal-sync"; did you mean "journal-sync"? allowed: ` + strings.Join(keyChoices("faults[].after.point"), ", ")},
		{"count without point", fault("{kind: kill, target: broker, for: 1s, after: {acks: 5, count: 2}}"), `6:67: faults.0.after.count is for point; acks and attempts are numbers themselves`},
		{"line name twice", fault(freeze, freeze), `7:12: faults.1.name is freeze like that of faults.0`},
		{"two triggers", fault("{kind: kill, target: broker, for: 1s, after: {acks: 1, attempts: 1}}"), `6:51: faults.0.after has 2 of acks, attempts, fault and point; write exactly one`},
		{"no trigger", fault("{kind: kill, target: broker, for: 1s, after: {delay: 1s}}"), `6:51: faults.0.after has 0 of acks, attempts, fault and point; write exactly one`},
		{"acks out of reach", fault("{kind: kill, target: broker, for: 1s, after: {acks: 10..2001}}"), `6:57: faults.0.after.acks is up to 2001, but chaos of 40s sees 2000 acks at most`},
		{"attempts out of reach", fault("{kind: kill, target: broker, for: 1s, after: {attempts: 8001}}"), `6:61: faults.0.after.attempts is up to 8001, but chaos of 40s sees 8000 attempts at most`},
		{"trigger unknown", fault(freeze, "{kind: kill, target: producer, for: 1s, after: {fault: freez}}"), `7:60: faults.1.after.fault is "freez", but no line has that name; did you mean "freeze"?`},
		{"trigger itself", fault("{name: a, kind: kill, target: producer, for: 1s, after: {fault: a}}"), `6:69: faults.0.after.fault is the line itself`},
		{"trigger chain", fault(freeze, "{name: a, kind: kill, target: producer, for: 1s, after: {fault: freeze}}", "{kind: kill, target: consumer, for: 1s, after: {fault: a}}"), `8:60: faults.2.after.fault is a, which waits for a fault itself; chains are not allowed`},
		{"trigger too rare", fault(freeze, "{kind: kill, target: producer, times: 1..2, for: 1s, after: {fault: freeze}}"), `7:43: faults.1.times is up to 2, but freeze happens only 1 times for sure`},
		{"trigger on the same target", fault(freeze, "{kind: kill, target: broker-1, for: 1s, after: {fault: freeze}}"), `7:26: faults.1.target is broker-1, but freeze holds that process then; name another`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("s.yaml", []byte(c.source), nil)
			expectError(t, err, "s.yaml:"+c.want)
		})
	}
}

// TestWorldsInAFile: a scenario names no world that cannot carry it out.
func TestWorldsInAFile(t *testing.T) {
	const sim, both, containers = "worlds: [sim]\n", "worlds: [sim, process]\n", "worlds: [docker]\n"
	const stuck = "faults:\n  - {kind: disk-stuck, target: broker, for: 1s}\n"
	const point = "faults:\n  - {kind: kill, target: broker, for: 1s, after: {point: ack}}\n"
	for _, c := range []struct{ name, lines, want string }{
		{"kind", both + stuck, "7:6: faults.0 cannot be with this list of worlds: the world process cannot carry out a disk-stuck"},
		{"kind in sim", sim + stuck, ""},
		{"a point falls back to a time", both + point, ""},
		{"point in sim", sim + point, ""},
		{"lying disk", both + "target: {disk: lying}\n", "6:16: target.disk cannot be with this list of worlds: the world process has the disk of the machine, not one that is lying"},
		{"lying disk in sim", sim + "target: {disk: lying}\n", ""},
		{"honest disk", both + "target: {disk: honest}\n", ""},
		{"knobs", both + "target: {knobs: {cache: 1}}\n", ""},
		{"kind in docker", containers + stuck, ""},
		{"lying disk in docker", containers + "target: {disk: lying}\n", ""},
		{"network in docker", containers + "network: {latency: 1ms}\n", ""},
		{"flow control in docker", containers + "properties: [flow-control]\n", ""},
		{"foreign target in docker", containers + "target: {kind: nsq}\n", "6:16: target.kind cannot be with this list of worlds: the world docker runs Pestle's own broker, not nsq"},
		{"network", both + "network: {latency: 1ms}\n", "6:11: network cannot be with this list of worlds: the world process takes the network as it is"},
		{"network in sim", sim + "network: {latency: 1ms}\n", ""},
		{"foreign target", both + "target: {kind: nsq}\n", "6:16: target.kind cannot be with this list of worlds: the world sim runs Pestle's own broker, not nsq"},
		{"flags", both + "target: {flags: [-x]}\n", "6:17: target.flags cannot be with this list of worlds: the world sim starts no program that could take flags"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("s.yaml", []byte(smallest+c.lines), nil)
			if c.want != "" {
				expectError(t, err, "s.yaml:"+c.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	const source = smallest + "faults:\n  - {kind: kill, target: broker, times: 2, for: 1s}\n"
	for _, c := range []struct {
		setting string
		want    string // error, or
		check   func(Scenario) bool
	}{
		{setting: "target.durability=memory", check: func(s Scenario) bool { return s.Target.Durability == "memory" }},
		{setting: "workload.topic=a=b", want: `workload.topic is "a=b"; write 1 to 64 letters, digits, '.', '_' and '-'`},
		{setting: "workload.producers.count=3", check: func(s Scenario) bool { return s.workload.producers == 3 }},
		{setting: "faults.0.times=3..4", check: func(s Scenario) bool { return s.faults[0].times == span{3, 4} }},
		{setting: "phases.quiet={every: 10s, for: 4s}", check: func(s Scenario) bool { return s.phases.quietEvery == 10*second }},
		{setting: "faults=[]", check: func(s Scenario) bool { return len(s.faults) == 0 }},
		{setting: "claims=[duplicate-consumed]", check: func(s Scenario) bool { return len(s.claims) == 1 }},

		{setting: "target.durability=memroy", want: `target.durability is "memroy"; did you mean "memory"? allowed: fsync, memory`},
		{setting: "traget.durability=memory", want: `unknown key "traget" in the scenario; did you mean "target"? allowed: name, about, worlds, target, network, workload, phases, faults, properties, claims`},
		{setting: "target.durabilty=memory", want: `unknown key "durabilty" in target; did you mean "durability"? allowed: kind, nodes, durability, flags, address, http, disk, plant, knobs`},
		{setting: "phases.recovery=6s", want: `phases.recovery is 6s, but a quiet window lasts only 5s: nothing could be judged in it`},
		{setting: "faults.1.times=3", want: `faults is a list with 1 items; "1" is none of 0..0`},
		{setting: "faults.first.times=3", want: `faults is a list with 1 items; "first" is none of 0..0`},
		{setting: "name.first=x", want: `name is a value and has no key "first"`},
		{setting: "phases.chaos", want: `write --set path=value, such as --set target.durability=memory`},
		{setting: "=40s", want: `write --set path=value, such as --set target.durability=memory`},
		{setting: "phases.chaos=", want: `nothing there`},
		{setting: "phases.chaos=[", want: `no valid YAML: sequence end token ']' not found`},
		{setting: strings.Repeat("a.", 20) + "b=1", want: `the path is longer than any key`},
	} {
		t.Run(c.setting, func(t *testing.T) {
			s, err := Parse("s.yaml", []byte(source), []string{c.setting})
			if c.want != "" {
				expectError(t, err, "--set "+c.setting+": "+c.want)
				return
			}
			if err != nil || !c.check(s) {
				t.Errorf("scenario %+v, error %v", s, err)
			}
		})
	}
}

func TestLaterSettingsWin(t *testing.T) {
	s, err := Parse("s.yaml", []byte(smallest), []string{"workload.topic=a", "workload.topic=b"})
	if err != nil || s.workload.topic != "b" {
		t.Errorf("topic %q, error %v", s.workload.topic, err)
	}
}

// TestLoadFindsAScenarioByName: a path is a path, a bare name is looked for in
// the folder scenarios.
func TestLoadFindsAScenarioByName(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Join("scenarios", "targets"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"own.yaml", "scenarios/small.yaml", "scenarios/targets/nsq.yaml"} {
		if err := os.WriteFile(file, []byte(smallest), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, word := range []string{"own.yaml", "small", "scenarios/small.yaml", "targets/nsq"} {
		if _, err := Load(word, nil); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
	_, err := Load("other", nil)
	expectError(t, err, "read scenario: open other: no such file or directory")
	_, err = Load("scenarios/other.yaml", nil)
	expectError(t, err, "read scenario: open scenarios/other.yaml: no such file or directory")
}

func TestLoadRefusesAHugeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge.yaml")
	if err := os.WriteFile(path, []byte(strings.Repeat("#", MaxScenario+1)), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path, nil)
	expectError(t, err, "read scenario: "+path+" has more than 1048576 bytes")
}

func FuzzParse(f *testing.F) {
	for _, file := range shipped(f) {
		source, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(source)
	}
	f.Add([]byte(smallest))
	f.Add([]byte("a: &b [*b]\n? {c: d}\n: - e\n  - |\n   f\n"))
	f.Fuzz(func(t *testing.T, source []byte) {
		s, err := Parse("s.yaml", source, nil)
		if err != nil {
			if strings.ContainsRune(err.Error(), '\n') {
				t.Errorf("error with more than one line: %q", err)
			}
			return
		}
		p, err := Expand(s, 1)
		if err != nil {
			return // the faults do not fit
		}
		if err := p.Validate(); err != nil {
			t.Errorf("a plan that its own check refuses: %v", err)
		}
	})
}

// shipped lists the scenarios of this folder.
func shipped(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.yaml", "targets/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	return files
}

func keyChoices(path string) []string { return keys().must(path).choices }

func expectError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want %s", want)
	}
	if err.Error() != want {
		t.Errorf("error\n got %s\nwant %s", err, want)
	}
}
