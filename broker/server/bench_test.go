package server

import (
	"fmt"
	"slices"
	"testing"
	"time"

	gonsq "github.com/nsqio/go-nsq"
)

// BenchmarkDelivery measures the time from before a publish is sent to the
// consumer's handler, both go-nsq, at a low rate and with a window of 10: the
// case in which a broker that waits to fill its buffers is slow.
//
//	go test -run - -bench Delivery -benchtime 200x ./broker/server
func BenchmarkDelivery(b *testing.B) {
	for _, rate := range []int{20, 500} {
		b.Run(fmt.Sprintf("%d-per-second", rate), func(b *testing.B) {
			server := startIn(b, b.TempDir())
			cfg := quietNSQ()
			cfg.MaxInFlight = 10
			arrived := make(chan time.Time, 10)
			goConsumer(b, server.TCPAddr().String(), "t", "ch", cfg, func(*gonsq.Message) error {
				arrived <- time.Now()
				return nil
			})
			p := goProducer(b, server.TCPAddr().String())
			var took []time.Duration
			pace := time.NewTicker(time.Second / time.Duration(rate))
			defer pace.Stop()
			for b.Loop() {
				<-pace.C
				start := time.Now()
				if err := p.Publish("t", []byte("message")); err != nil {
					b.Fatal(err)
				}
				took = append(took, receive(b, arrived, "delivery").Sub(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// BenchmarkPublish measures publishes of 200 bytes by one connection that
// keeps 256 of them under way.
func BenchmarkPublish(b *testing.B) {
	server := startIn(b, b.TempDir())
	p := goProducer(b, server.TCPAddr().String())
	body := make([]byte, 200)
	done := make(chan *gonsq.ProducerTransaction, 256)
	under := 0
	for b.Loop() {
		if under == cap(done) {
			if tx := <-done; tx.Error != nil {
				b.Fatal(tx.Error)
			}
			under--
		}
		if err := p.PublishAsync("t", body, done); err != nil {
			b.Fatal(err)
		}
		under++
	}
	for ; under > 0; under-- {
		<-done
	}
}
