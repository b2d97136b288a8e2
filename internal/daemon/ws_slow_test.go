package daemon

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

// A client that does not read does not affect others. When it reads again, it learns that it was
// too slow and can continue from its last seq (cd-srv-036).
func TestSlowClient(t *testing.T) {
	const patience = time.Second
	w := beginDaemon(t, nil, func(l *limits) { l.slow, l.stuck, l.ping = patience, time.Hour, time.Hour })
	run := w.subscribeToBusyRun("run")
	close(run.stop)
	<-run.done
	slow := w.subscribed("run", run.last)
	fast := w.ann()
	fast.send(fmt.Sprintf(`{"type":"subscribe","runId":"run","afterSeq":%d}`, run.last))
	fast.until("subscribed")
	before, from := w.idleUsage(), run.last

	n := hostileFrameCount(t, 4000)
	for range n / 100 { // together more than sockets buffer
		batch := hundred(40_000_000 / n)
		last := run.last
		run.add(batch...)
		follow(t, fast, last, run.last)
	}
	began := time.Now()
	w.eventually("the slow client to be too slow", func() bool { return time.Since(began) > patience })
	if after := w.idleUsage(); after.heap > before.heap+(32<<20) {
		t.Errorf("the heap grew from %d to %d bytes", before.heap, after.heap)
	}

	seq := from
	for {
		b, err := slow.read()
		if err != nil {
			if code := websocket.CloseStatus(err); code != websocket.StatusTryAgainLater {
				t.Fatalf("closed with %d: %v", code, err)
			}
			break
		}
		if n, ok := object(t, b)["seq"].(json.Number); ok && !strings.Contains(string(b), `"caught_up"`) {
			if got, _ := n.Int64(); got != seq+1 {
				t.Fatalf("after record %d arrived %d", seq, got)
			}
			seq++
		}
	}
	if seq == from || seq == run.last {
		t.Errorf("it received %d of %d records before it was too slow", seq-from, run.last-from)
	}
	again := w.ann()
	again.send(fmt.Sprintf(`{"type":"subscribe","runId":"run","afterSeq":%d}`, seq))
	follow(t, again, seq, run.last)
}

// A client that never reads is cut off.
func TestClientNotReading(t *testing.T) {
	w := beginDaemon(t, nil, func(l *limits) { l.slow, l.stuck, l.ping = 50*time.Millisecond, 100*time.Millisecond, time.Hour })
	run := w.subscribeToBusyRun("run")
	close(run.stop)
	<-run.done
	w.subscribed("run", run.last)
	for range 40 {
		run.add(hundred(10_000)...)
	}
	w.waitConnections(0) // nor does the client of the run
}

// hundred returns a hundred events of a size.
func hundred(size int) []wire.RunEvent {
	batch := make([]wire.RunEvent, 100)
	for i := range batch {
		batch[i] = steered(i)
		batch[i].Text += strings.Repeat("x", size)
	}
	return batch
}

// subscribed returns a client that subscribes to a run and reads nothing more.
func (w *daemonEnv) subscribed(run string, after int64) *client {
	w.t.Helper()
	c := w.ann()
	c.send(fmt.Sprintf(`{"type":"subscribe","runId":%q,"afterSeq":%d}`, run, after))
	c.until("caught_up")
	return c
}
