package server

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"pestle/broker/nsq"
)

// mpubBody writes a binary body of POST /mpub.
func mpubBody(count int, messages ...string) string {
	out := binary.BigEndian.AppendUint32(nil, uint32(count))
	for _, m := range messages {
		out = binary.BigEndian.AppendUint32(out, uint32(len(m)))
		out = append(out, m...)
	}
	return string(out)
}

func TestHTTP(t *testing.T) {
	cfg := testConfig(openDir(t, t.TempDir()))
	cfg.Core.Limits.MaxMessageSize = 100
	cfg.Core.Limits.MaxBodySize = 1000
	b := start(t, cfg)
	long := strings.Repeat("x", 101)
	for _, test := range []struct {
		method, path, body string
		status             int
		answer             string // a regular expression for all of it
	}{
		{"GET", "/ping", "", 200, `OK`},
		{"GET", "/healthz", "", 200, "OK\n"},
		{"GET", "/info", "", 200, `\{"version":"1.3.0","broadcast_address":"broker.example","hostname":"[^"]+","http_port":\d+,"tcp_port":\d+,"start_time":\d{10},"max_heartbeat_interval":60000000000,"max_output_buffer_size":65536,"max_output_buffer_timeout":30000000000,"max_deflate_level":6,"topology_zone":"","topology_region":""\}`},
		{"GET", "/nothing", "", 404, `\{"message":"NOT_FOUND"\}`},
		{"GET", "/", "", 404, `\{"message":"NOT_FOUND"\}`},
		{"POST", "/ping", "", 405, `\{"message":"METHOD_NOT_ALLOWED"\}`},
		{"GET", "/pub?topic=t", "", 405, `\{"message":"METHOD_NOT_ALLOWED"\}`},

		{"POST", "/pub?topic=t", "m", 200, `OK`},
		{"POST", "/pub?topic=t&defer=1000", "m", 200, `OK`},
		{"POST", "/pub?topic=t&defer=0", "m", 200, `OK`},
		{"POST", "/pub?topic=t", long[1:], 200, `OK`},
		{"POST", "/pub?topic=t", long, 413, `\{"message":"MSG_TOO_BIG"\}`},
		{"POST", "/pub?topic=t", "", 400, `\{"message":"MSG_EMPTY"\}`},
		{"POST", "/pub", "m", 400, `\{"message":"MISSING_ARG_TOPIC"\}`},
		{"POST", "/pub?topic=", "m", 400, `\{"message":"INVALID_TOPIC"\}`},
		{"POST", "/pub?topic=a%20b", "m", 400, `\{"message":"INVALID_TOPIC"\}`},
		{"POST", "/pub?topic=%zz", "m", 400, `\{"message":"INVALID_REQUEST"\}`},
		{"POST", "/pub?topic=t&defer=x", "m", 400, `\{"message":"INVALID_DEFER"\}`},
		{"POST", "/pub?topic=t&defer=-1", "m", 400, `\{"message":"INVALID_DEFER"\}`},
		{"POST", "/pub?topic=t&defer=3600001", "m", 400, `\{"message":"INVALID_DEFER"\}`},

		{"POST", "/mpub?topic=lines", "a\n\nb\n", 200, `OK`},
		{"POST", "/mpub?topic=t", "\n\n", 200, `OK`},
		{"POST", "/mpub?topic=t", "a\n" + long, 413, `\{"message":"MSG_TOO_BIG"\}`},
		{"POST", "/mpub?topic=t", strings.Repeat("x\n", 501), 413, `\{"message":"BODY_TOO_BIG"\}`},
		{"POST", "/mpub", "a", 400, `\{"message":"MISSING_ARG_TOPIC"\}`},
		{"POST", "/mpub?topic=binary&binary=true", mpubBody(2, "a", "bc"), 200, `OK`},
		{"POST", "/mpub?topic=t&binary=yes", mpubBody(1, "a"), 200, `OK`},
		{"POST", "/mpub?topic=t&binary=0", "a", 200, `OK`},
		{"POST", "/mpub?topic=t&binary=1", "abc", 413, `\{"message":"BAD_BODY"\}`},
		{"POST", "/mpub?topic=t&binary=1", mpubBody(0), 413, `\{"message":"BAD_BODY"\}`},
		{"POST", "/mpub?topic=t&binary=1", mpubBody(-1, "a"), 413, `\{"message":"BAD_BODY"\}`},
		{"POST", "/mpub?topic=t&binary=1", mpubBody(1<<30, "a"), 413, `\{"message":"BAD_BODY"\}`},
		{"POST", "/mpub?topic=t&binary=1", mpubBody(1, ""), 413, `\{"message":"BAD_(MESSAGE|BODY)"\}`},
		{"POST", "/mpub?topic=t&binary=1", mpubBody(2, "", "a"), 413, `\{"message":"BAD_(MESSAGE|BODY)"\}`},
		{"POST", "/mpub?topic=t&binary=1", mpubBody(1, long), 413, `\{"message":"BAD_MESSAGE"\}`},
		{"POST", "/mpub?topic=t&binary=1", mpubBody(1, "a") + "rest", 413, `\{"message":"BAD_BODY"\}`},
		{"POST", "/mpub?topic=t&binary=1", mpubBody(2, "aaaaaa"), 413, `\{"message":"BAD_MESSAGE"\}`},

		{"POST", "/topic/create?topic=made", "", 200, ``},
		{"POST", "/topic/create?topic=made", "", 200, ``},
		{"POST", "/topic/create", "", 400, `\{"message":"MISSING_ARG_TOPIC"\}`},
		{"POST", "/topic/create?topic=!", "", 400, `\{"message":"INVALID_TOPIC"\}`},
		{"POST", "/channel/create?topic=made&channel=ch", "", 200, ``},
		{"POST", "/channel/create?topic=made", "", 400, `\{"message":"MISSING_ARG_CHANNEL"\}`},
		{"POST", "/channel/create?channel=ch", "", 400, `\{"message":"MISSING_ARG_TOPIC"\}`},
		{"POST", "/channel/create?topic=!&channel=ch", "", 400, `\{"message":"INVALID_ARG_TOPIC"\}`},
		{"POST", "/channel/create?topic=made&channel=!", "", 400, `\{"message":"INVALID_ARG_CHANNEL"\}`},
		{"POST", "/channel/create?topic=absent&channel=ch", "", 404, `\{"message":"TOPIC_NOT_FOUND".*\}`},

		{"GET", "/stats?format=json&topic=made&include_mem=false&include_clients=false", "", 200, `\{"version":"1.3.0","health":"OK","start_time":\d{10},"topics":\[\{"topic_name":"made","channels":\[\{"channel_name":"ch","depth":0,"backend_depth":0,"in_flight_count":0,"deferred_count":0,"message_count":0,"requeue_count":0,"timeout_count":0,"client_count":0,"clients":null,"paused":false,"e2e_processing_latency":\{"count":0,"percentiles":null\},"finished_below":0\}\],"depth":0,"backend_depth":0,"message_count":0,"message_bytes":0,"paused":false,"e2e_processing_latency":\{"count":0,"percentiles":null\},"group":\d+,"leads":(?:true|false)\}\],"producers":null,"node":\d+,"groups":\[.*\]\}`},
		{"GET", "/stats?format=json&topic=absent&include_mem=0", "", 200, `\{"version":"1.3.0","health":"OK","start_time":\d{10},"topics":null,"producers":null,"node":\d+,"groups":\[.*\]\}`},
		{"GET", "/stats?format=json&topic=lines&include_mem=0", "", 200, `.*"depth":2,"backend_depth":0,"message_count":2,"message_bytes":2,.*`},
		{"GET", "/stats?format=json&topic=binary&include_mem=0", "", 200, `.*"depth":2,"backend_depth":0,"message_count":2,"message_bytes":3,.*`},
		{"GET", "/stats?format=json", "", 200, `.*"memory":\{"heap_objects":\d+,.*"gc_total_runs":\d+\},"producers":null,"node":\d+,"groups":\[.*\]\}`},
		{"GET", "/stats?topic=%zz", "", 400, `\{"message":"INVALID_REQUEST"\}`},
		{"GET", "/stats?topic=made", "", 200, `(?s)nsqd v1\.3\.0 \(built w/go.*\)\nstart_time .*\nuptime .*\n\nHealth: OK\n\nMemory:\n.*\n\nTopics:\n   \[made           \] depth: 0     be-depth: 0     msgs: 0        e2e%: \n      \[ch                       \] depth: 0 .*\n\nProducers: None\n\nGroups:.*\nNode: \d+\n`},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			status, answer := b.call(t, test.method, test.path, test.body)
			if status != test.status || !regexp.MustCompile("^(?:"+test.answer+")$").MatchString(answer) {
				t.Errorf("got %d %s\nwant %d %s", status, answer, test.status, test.answer)
			}
		})
	}
}

func TestHTTPHeaders(t *testing.T) {
	b := startIn(t, t.TempDir())
	for path, want := range map[string]string{
		"/ping":              "text/plain; charset=utf-8",
		"/info":              "application/json; charset=utf-8",
		"/absent":            "application/json; charset=utf-8",
		"/stats":             "text/plain; charset=utf-8",
		"/stats?format=json": "application/json; charset=utf-8",
	} {
		resp, err := http.Get(b.url(path))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Content-Type"); got != want {
			t.Errorf("%s: Content-Type %q, want %q", path, got, want)
		}
		if got := resp.Header.Get("X-NSQ-Content-Type"); got != "nsq; version=1.0" {
			t.Errorf("%s: X-NSQ-Content-Type %q", path, got)
		}
	}
}

func TestGarbageOnTheHTTPPortIsAnswered(t *testing.T) {
	b := startIn(t, t.TempDir())
	sock := dialRaw(t, b.HTTPAddr())
	fmt.Fprint(sock, "  V2IDENTIFY\n\n\n")
	answer, err := io.ReadAll(sock)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400") {
		t.Fatalf("got %q, %v; want HTTP/1.1 400", answer, err)
	}
}

func TestTooLongABodyIsNotRead(t *testing.T) {
	b := startIn(t, t.TempDir())
	sock := dialRaw(t, b.HTTPAddr())
	// The answer comes though not a byte of the body was sent.
	fmt.Fprint(sock, "POST /pub?topic=t HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n")
	head := make([]byte, 12)
	if _, err := io.ReadFull(sock, head); err != nil || string(head) != "HTTP/1.1 413" {
		t.Fatalf("got %q, %v; want HTTP/1.1 413", head, err)
	}
}

func TestDeferredPublishOverHTTPIsCounted(t *testing.T) {
	b := startIn(t, t.TempDir())
	b.call(t, "POST", "/topic/create?topic=t", "")
	b.call(t, "POST", "/channel/create?topic=t&channel=ch", "")
	b.call(t, "POST", "/pub?topic=t&defer=3600000", "later")
	b.mustPublish(t, "t", "now")
	ch := b.stats1(t)
	if ch.Depth != 1 || ch.Deferred != 1 || ch.MessageCount != 2 {
		t.Fatalf("got depth %d deferred %d messages %d, want 1 1 2", ch.Depth, ch.Deferred, ch.MessageCount)
	}
}

// stats1 returns the statistics of the only channel.
func (b *broker) stats1(t *testing.T) channelJSON {
	t.Helper()
	st := getStats(t, b.HTTPAddr().String())
	if len(st.Topics) != 1 || len(st.Topics[0].Channels) != 1 {
		t.Fatalf("not one topic with one channel: %+v", st)
	}
	return st.Topics[0].Channels[0]
}

func TestStatsOfClients(t *testing.T) {
	b := startIn(t, t.TempDir())
	b.mustPublish(t, "t", "m")
	c := subscribe(t, b.TCPAddr().String(), "t", "ch", 7)
	c.want(nsq.NoticeDelivered)
	ch := b.stats1(t)
	if ch.InFlight != 1 || ch.ClientCount != 1 || len(ch.Clients) != 1 {
		t.Fatalf("got %+v, want one client with one message", ch)
	}
	got := ch.Clients[0]
	if got.ConnectTime == 0 || got.RemoteAddress != c.sock.LocalAddr().String() {
		t.Errorf("got connect time %d and address %s", got.ConnectTime, got.RemoteAddress)
	}
	got.ConnectTime, got.RemoteAddress = 0, ""
	want := clientJSON{
		ClientID: "test", Version: "V2", State: 3, ReadyCount: 7, InFlightCount: 1, MessageCount: 1,
		Hostname: got.Hostname, UserAgent: got.UserAgent,
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestBeforeReadyHTTPSaysSo(t *testing.T) {
	s, err := Open(testConfig(openDir(t, t.TempDir())))
	if err != nil {
		t.Fatal(err)
	}
	defer s.tcp.Close()
	go s.serveHTTP()
	t.Cleanup(func() { _ = s.http.Close() })
	b := &broker{Server: s}
	if status, answer := b.call(t, "GET", "/healthz", ""); status != 503 || !strings.Contains(answer, "recovery") {
		t.Errorf("/healthz: %d %q", status, answer)
	}
	status, answer := b.call(t, "POST", "/pub?topic=t", "m")
	var known httpError
	if err := json.Unmarshal([]byte(answer), &known); err != nil || status != 503 || known.Code != "NOT_READY" {
		t.Errorf("/pub: %d %q (%v)", status, answer, err)
	}
}

func TestPercentile(t *testing.T) {
	for _, test := range []struct {
		sorted []uint64
		p      int
		want   uint64
	}{
		{nil, 99, 0},
		{[]uint64{5}, 95, 5},
		{[]uint64{1, 2, 3, 4}, 50, 2},
		{[]uint64{1, 2, 3, 4}, 100, 4},
	} {
		if got := percentile(test.sorted, test.p); got != test.want {
			t.Errorf("percentile(%v, %d) = %d, want %d", test.sorted, test.p, got, test.want)
		}
	}
}

func FuzzSplitBinary(f *testing.F) {
	f.Add([]byte(mpubBody(2, "a", "bc")))
	f.Add([]byte(mpubBody(1<<30, "a")))
	f.Add([]byte(mpubBody(-1)))
	f.Add([]byte{0, 0, 0})
	s := &Server{limits: nsq.DefaultLimits()}
	f.Fuzz(func(t *testing.T, body []byte) {
		bodies, err := s.splitBinary(body)
		if err != nil {
			return
		}
		var messages []string
		for _, b := range bodies {
			messages = append(messages, string(b))
		}
		if again := mpubBody(len(messages), messages...); again != string(body) {
			t.Fatalf("%x was taken for %q, which is %x", body, messages, again)
		}
	})
}
