package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pestle/broker/core"
)

func TestBrokerFlagsMakeACluster(t *testing.T) {
	three := []core.Member{{ID: 1, Address: "a:1"}, {ID: 2, Address: "b:1"}, {ID: 3, Address: "[::1]:1"}}
	for _, test := range []struct {
		name, args string
		want       core.Config
		peer       string
	}{
		{"a broker alone", "", core.Config{Node: 1, DataGroups: 4}, ""},
		{"a node of three", "--node-id=2 --cluster=1=a:1,2=b:1,3=[::1]:1 --data-groups=7",
			core.Config{Node: 2, DataGroups: 7, Cluster: three}, "b:1"},
		{"behind another address", "-node-id 3 -cluster 1=a:1,2=b:1,3=[::1]:1 -peer-address :9",
			core.Config{Node: 3, DataGroups: 4, Cluster: three}, ":9"},
		{"a node that joins", "--node-id=4 --join --cluster=1=a:1,2=b:1,3=[::1]:1 --peer-address=d:1",
			core.Config{Node: 4, DataGroups: 4, Cluster: append(three[:3:3], core.Member{ID: 4, Address: "d:1"}), Join: true}, "d:1"},
		{"a node that joins behind another address", "--node-id=3 --join --cluster=1=a:1,2=b:1,3=[::1]:1 --peer-address=:9",
			core.Config{Node: 3, DataGroups: 4, Cluster: three, Join: true}, ":9"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, _, err := parseBroker(strings.Fields(test.args)...)
			if err != nil {
				t.Fatal(err)
			}
			cfg, _, err := f.config()
			if err != nil {
				t.Fatal(err)
			}
			test.want.Limits = cfg.Limits
			if diff := cmp.Diff(test.want, cfg); diff != "" {
				t.Error(diff)
			}
			if f.peer != test.peer {
				t.Errorf("listens on %q, want %q", f.peer, test.peer)
			}
		})
	}
}

func TestBrokerRefusesWrongClusters(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--node-id=0", "--node-id is 0; it must be at least 1"},
		{"--node-id=one", `invalid argument "one" for "--node-id"`},
		{"--data-groups=0", "--data-groups is 0; it must be 1 to 64"},
		{"--data-groups=65", "--data-groups is 65; it must be 1 to 64"},
		{"--join", "--join needs --cluster"},
		{"--peer-address=a:1 --node-id=5", "--peer-address needs --cluster with the nodes that may connect, or this one alone: 5=a:1"},
		{"--cluster=a:1", `--cluster "a:1": "a:1" is not a node; give id=host:port`},
		{"--cluster=1=a:1,", `"" is not a node; give id=host:port`},
		{"--cluster=0=a:1", `"0" is not a node's id; ids are numbers from 1`},
		{"--cluster=-1=a:1", `"-1" is not a node's id; ids are numbers from 1`},
		{"--cluster=1=a", "node 1: address a: missing port in address; give host:port"},
		{"--cluster=1=:1", `node 1: ":1" cannot be dialled; give host:port with a port from 1 to 65535`},
		{"--cluster=1=a:0", `node 1: "a:0" cannot be dialled`},
		{"--cluster=1=a:65536", `node 1: "a:65536" cannot be dialled`},
		{"--cluster=1=a:1,2=b:1,1=c:1", "node 1 is there twice"},
		{"--cluster=1=a:1,2=a:1", "nodes 1 and 2 have the same address"},
		{"--cluster=1=a:1,2=b:1 --node-id=3", `--cluster "1=a:1,2=b:1" does not have node 3, which is this one (--node-id)`},
		{"--cluster=1=a:1,2=b:1 --join --node-id=3", "--peer-address, where the other nodes reach this one when --cluster does not tell: missing port in address; give host:port"},
		{"--cluster=1=a:1,2=b:1 --join --node-id=3 --peer-address=:1", `":1" cannot be dialled`},
	} {
		f, _, err := parseBroker(strings.Fields(test.args)...)
		if err == nil {
			_, _, err = f.config()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.args, err, test.want)
		}
	}
}
