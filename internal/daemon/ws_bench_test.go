package daemon

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

const manyClients = 1000

// BenchmarkIdleConnections measures the memory of 1,000 idle connections. The clients are sockets
// without buffers; their memory is included.
func BenchmarkIdleConnections(b *testing.B) {
	w := beginDaemon(b, nil, func(l *limits) { l.ping = time.Hour }) // the clients answer no pings
	token := w.token(api.ScopeRead)
	conns := make([]net.Conn, 0, manyClients)
	for b.Loop() {
		before := inUse()
		for range manyClients {
			conns = append(conns, w.upgrade(token))
		}
		w.waitConnections(manyClients)
		b.ReportMetric(float64(inUse()-before)/(1<<20), "MiB/1000")
		for _, c := range conns {
			_ = c.Close()
		}
		conns = conns[:0]
		w.waitConnections(0)
	}
}

// inUse returns the size of the heap and all stacks.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// BenchmarkSubscribers measures the time from an append until the last, and until 99 of 100, of
// 1,000 subscribers of one run have the event. Clients and daemon share the machine.
func BenchmarkSubscribers(b *testing.B) {
	w := beginDaemon(b, nil, func(l *limits) { l.ping = time.Hour }) // the clients answer no pings
	run := w.subscribeToBusyRun("run")
	close(run.stop)
	<-run.done
	token := w.token(api.ScopeRead)
	got := make(chan time.Time, manyClients)
	var readers sync.WaitGroup
	var conns []net.Conn
	for range manyClients {
		c := w.upgrade(token)
		conns = append(conns, c)
		frame := fmt.Appendf(nil, `{"type":"subscribe","runId":"run","afterSeq":%d}`, run.last)
		if _, err := c.Write(append([]byte{0x81, 0x80 | byte(len(frame)), 0, 0, 0, 0}, frame...)); err != nil {
			b.Fatal(err)
		}
		r := bufio.NewReaderSize(c, 1024)
		for range 2 { // subscribed, caught_up
			if err := skipFrame(r); err != nil {
				b.Fatal(err)
			}
		}
		readers.Go(func() {
			for skipFrame(r) == nil {
				got <- time.Now()
			}
		})
	}
	var all, last []time.Duration
	for b.Loop() {
		began := time.Now()
		run.add(steered(1))
		var round []time.Duration
		for range manyClients {
			round = append(round, (<-got).Sub(began))
		}
		slices.Sort(round)
		all = append(all, round...)
		last = append(last, round[len(round)-1])
	}
	for _, c := range conns {
		_ = c.Close()
	}
	readers.Wait()
	slices.Sort(all)
	slices.Sort(last)
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "ms-p99")
	b.ReportMetric(float64(last[len(last)/2].Microseconds())/1000, "ms-last-p50")
}

// skipFrame reads a frame of the daemon.
func skipFrame(r *bufio.Reader) error {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := int64(head[1])
	if n == 126 {
		var long [2]byte
		if _, err := io.ReadFull(r, long[:]); err != nil {
			return err
		}
		n = int64(binary.BigEndian.Uint16(long[:]))
	}
	_, err := io.CopyN(io.Discard, r, n)
	return err
}

// BenchmarkPing measures one message and its answer.
func BenchmarkPing(b *testing.B) {
	w := beginDaemon(b, nil, func(l *limits) { l.rate, l.burst = 1e9, 1e9 })
	c := w.ann()
	for b.Loop() {
		c.send(`{"type":"ping","requestId":"r"}`)
		if _, _, err := c.ws.Read(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
