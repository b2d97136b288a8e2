package daemon

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// BenchmarkDecision measures the time from sending a decision to the start of the tool. It
// alternates with a control: a WebSocket that echoes a frame after one durable append of a
// decision's records to the same store with the same trail.
func BenchmarkDecision(b *testing.B) {
	var play strings.Builder
	play.WriteString("steps:\n")
	for i := range b.N {
		fmt.Fprintf(&play, "  - tool_uses: [{id: u%d, tool: Bash, input: {command: stamp}}]\n", i)
	}
	play.WriteString("  - text: done\n")
	w := &daemonEnv{t: b, home: b.TempDir(), cwd: b.TempDir(), plays: map[string]string{"writer": play.String()}, held: make(chan struct{})}
	w.tune = func(l *limits) { l.rate, l.burst = 1e9, 1e9 } // users decide less often
	started := make(chan time.Time, 1)
	w.during = func(string) { started <- time.Now() }
	trail, err := audit.OpenTrail(filepath.Join(w.home, "audit"), nil)
	if err != nil {
		b.Fatal(err)
	}
	w.trail = trail
	w.openStore()
	w.begin()
	b.Cleanup(func() {
		w.stop()
		_ = trail.Close()
		_ = w.closeStore()
	})
	bare := newBareDecision(b, w.sessions)
	ann := w.ann()
	id := ann.prepare(w.cwd)
	ann.send(fmt.Sprintf(`{"type":"start_run","runId":%q,"input":"go"}`, id))
	var daemon, control []time.Duration
	for range b.N { // the script has as many steps
		q := ann.until("request_permission")
		frame := fmt.Sprintf(`{"type":"permission_decision","runId":%q,"permissionRequestId":%q,"decision":"allow"}`, id, q["requestId"])
		began := time.Now()
		ann.send(frame)
		daemon = append(daemon, (<-started).Sub(began))
		control = append(control, bare.round(b, frame))
	}
	p := func(d []time.Duration, q float64) float64 {
		s := slices.Sorted(slices.Values(d))
		return float64(s[min(int(q*float64(len(s))), len(s)-1)].Nanoseconds())
	}
	for _, q := range []float64{0.5, 0.99} {
		name := fmt.Sprintf("p%.0f", q*100)
		b.ReportMetric(p(daemon, q)/1000, "µs-"+name)
		b.ReportMetric(p(control, q)/1000, "µs-control-"+name)
		b.ReportMetric(p(daemon, q)/p(control, q), "ratio-"+name)
	}
}

// bareDecision is the control: an echo after one append.
type bareDecision struct{ ws *websocket.Conn }

func newBareDecision(b *testing.B, sessions *session.Sessions) *bareDecision {
	log, err := sessions.Create(b.Context(), session.Opened{SessionID: "bare"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = log.Close() })
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(rw, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()
		for {
			kind, frame, err := ws.Read(r.Context())
			if err != nil {
				return
			}
			if _, err := log.Append(r.Context(), decisionDrafts(b)...); err != nil {
				return
			}
			if ws.Write(r.Context(), kind, frame) != nil {
				return
			}
		}
	}))
	b.Cleanup(server.Close)
	ws, _, err := websocket.Dial(b.Context(), server.URL, nil) //nolint:bodyclose // the connection owns it
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = ws.CloseNow() })
	return &bareDecision{ws}
}

// decisionDrafts returns records of the same size as those of a decision.
func decisionDrafts(b *testing.B) []session.Draft {
	var list []session.Draft
	for _, size := range []int{150, 500, 60} {
		d, err := session.NewDraft(record.KindDecision, map[string]string{"text": strings.Repeat("x", size)})
		if err != nil {
			b.Error(err)
		}
		list = append(list, d)
	}
	return list
}

func (d *bareDecision) round(b *testing.B, frame string) time.Duration {
	began := time.Now()
	err := d.ws.Write(context.Background(), websocket.MessageText, []byte(frame))
	if err == nil {
		_, _, err = d.ws.Read(context.Background())
	}
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}
