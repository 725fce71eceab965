package faults

import "testing"

// away lets so many brokers be away at once.
func away(f Fault, most int) Fault {
	f.Away = most
	return f
}

// TestSchedulerOfACluster: faults on whom leads, and how many brokers are away.
func TestSchedulerOfACluster(t *testing.T) {
	runScripts(t, []script{
		{
			name:   "a fault on the leader is on whom leads when it begins",
			faults: []Fault{at(1000, Kill, Leader, 200), at(1000, Pause, "producer-1", 200), at(3000, Pause, MetadataLeader, 200), at(4000, Pause, Follower(2), 200)},
			steps: []step{
				{999, "seeks", "false"}, {1000, "seeks", "true"}, {1000, "lead 2", ""}, {1000, "due", "1:broker-2 2"},
				{1000, "seeks", "false"}, {1300, "ended 1", ""},
				{3000, "lead 2", ""}, {3000, "due", "3:broker-3"},
				{4000, "lead 2", ""}, {4000, "due", ""}, // the second follower of broker-2 is broker-3, which is paused
				{4020, "lead 3", ""}, {4020, "due", "4:broker-2"},
			},
		},
		{
			name:   "it looks again where nobody leads, and what was told counts once",
			faults: []Fault{at(1000, Kill, Leader, 200)},
			steps: []step{
				{900, "lead 1", ""}, {900, "due", ""},
				{1000, "due", ""}, {1000, "next", "1020"}, {1019, "seeks", "false"}, {1019, "lead 1", ""}, {1019, "due", ""},
				{1020, "seeks", "true"}, {1020, "lead 0", ""}, {1020, "due", ""}, {1020, "next", "1040"},
				{1040, "lead 1", ""}, {1040, "due", "1:broker-1"},
			},
		},
		{
			name:   "a target without a leader to the end says so",
			faults: []Fault{at(1000, Kill, Leader, 200)},
			steps:  []step{{1000, "lead 0", ""}, {1000, "due", ""}, {19_900, "due", ""}},
			notes:  []string{"there was nobody that its selector stands for"},
		},
		{
			name:   "the process that a selector stood for is held, and the word is free",
			faults: []Fault{at(1000, Pause, Leader, 200), at(1100, Pause, "broker-2", 200), at(1200, Pause, Leader, 200), at(1250, Pause, Leader, 200)},
			steps: []step{
				{1000, "lead 2", ""}, {1000, "due", "1:broker-2"}, {1000, "took 1", ""}, {1100, "due", ""},
				{1200, "lead 2", ""}, {1200, "due", ""}, {1200, "next", "1220"},
				{1250, "lead 1", ""}, {1250, "due", "3:broker-1"}, {1270, "lead 1", ""}, {1270, "due", ""},
				{1300, "ended 1", ""}, {1300, "due", "2"},
			},
		},
		{
			name: "so many brokers are away as the fault allows",
			faults: []Fault{
				away(at(1000, Kill, "broker-1", 200), 1), away(at(1000, Pause, "broker-2", 200), 1), at(1000, Silence, "broker-3", 200),
				away(at(1000, PowerLoss, Follower(1), 200), 1), away(at(1000, Kill, "broker-3", 200), 2), at(1000, Kill, "producer-1", 200),
			},
			steps: []step{
				{1000, "due", "1 3 6"}, {1000, "seeks", "false"}, {1000, "took 1", ""},
				{1100, "ended 3", ""}, {1100, "due", "5"}, {1100, "seeks", "false"},
				{1400, "ended 1", ""}, {1400, "due", ""}, {1400, "ended 5", ""}, {1400, "due", "2"},
			},
			notes: []string{"", "", "its target was not there to be hit", "too many brokers were away", "its target was not there to be hit", ""},
		},
		{
			name: "a point of recovery is hit while its broker is away already",
			faults: []Fault{
				away(at(1000, PowerLoss, "broker-1", 200), 1),
				away(after(Event{Point: "recovery-torn-tail", Count: 1, Process: AnyProcess}, Kill, "broker-1", 100), 1),
			},
			steps: []step{{1000, "due", "1"}, {1300, "recovery-torn-tail 1", ""}, {1300, "due", "2"}},
		},
		{
			name: "a broker is restarted on a rotten disk",
			faults: []Fault{
				{Kind: BitRot, Target: "broker-1", For: 5000 * millisecond, Count: 1, Anchor: Anchor{At: 1000 * millisecond}},
				at(2000, PowerLoss, "broker-1", 200), at(2000, Kill, "broker-1", 200), at(2000, Pause, "broker-1", 200),
				{Kind: BitRot, Target: "broker-1", For: 1000 * millisecond, Count: 1, Anchor: Anchor{At: 2000 * millisecond}},
			},
			steps: []step{
				{1000, "due", "1"}, {1000, "took 1", ""}, {2000, "due", "2"}, {2300, "ended 2", ""}, {2300, "due", "3"},
				{2500, "ended 3", ""}, {2500, "due", ""}, {6000, "ended 1", ""}, {6000, "due", "4"},
			},
		},
		{
			name: "points of any broker are counted together",
			faults: []Fault{
				after(Event{Point: "ack", Count: 3, Process: AnyProcess}, Kill, "broker-1", 100),
				after(Event{Point: "ack", Count: 3, Process: "broker-1"}, Kill, "broker-2", 100),
			},
			steps: []step{{100, "ack 2", ""}, {100, "elsewhere 1", ""}, {100, "due", "1"}, {200, "ack 1", ""}, {200, "due", "2"}},
		},
	})
}
