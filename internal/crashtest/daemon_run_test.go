//go:build linux

package crashtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
)

// watchedRun is a run, its two clients and their answers.
type watchedRun struct {
	id, dir, ledger string
	strategy        any
	sessions        []string // of its agents
	uses            int      // number of approval requests to come
	unasked         int      // calls that a kill ended before their approval request
	open            []string // requests that were open when the daemon was killed
	clients         []*client
	connect         map[string]func(context.Context, *client) error
	asked, sent     atomic.Int64

	mu    sync.Mutex
	given map[string]approval.Decision // what was taken over HTTP
	over  map[string]int
	held  bool // answers wait
	queue []func()

	stop context.CancelFunc
	wg   sync.WaitGroup
}

const asksOfAnAgent = 4

// newWatchedRun makes a run of one agent, of two in turn, or of two side by side.
func newWatchedRun(t *testing.T, s *daemonSeries) *watchedRun {
	t.Helper()
	w := &watchedRun{
		id: fmt.Sprint("run-", s.runs), dir: filepath.Join(s.dir, fmt.Sprint("work-", s.runs)),
		given: map[string]approval.Decision{}, over: map[string]int{},
		connect: map[string]func(context.Context, *client) error{"sse": overSSE, "ws": overSocket},
	}
	w.ledger = filepath.Join(w.dir, "ledger")
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.ledger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	names, kind := []string{"solo"}, "sequential"
	switch s.runs % 3 {
	case 1:
		names = []string{"one", "two"}
	case 2:
		names, kind = []string{"left", "right"}, "broadcast"
	}
	agents := map[string]any{}
	for _, name := range names {
		id := w.id
		if len(names) > 1 {
			id += "." + name
		}
		w.sessions = append(w.sessions, id)
		w.uses += asksOfAnAgent
		agents[name] = map[string]string{"model": "scripted/" + w.play(t, name, id)}
	}
	w.strategy = map[string]any{
		"name": "asks", "version": "1", "agents": agents, "flow": map[string]any{"type": kind, "steps": names},
	}
	w.follow()
	return w
}

// play writes the script of an agent's model: commands that note that they ran.
func (w *watchedRun) play(t *testing.T, name, id string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("chunk: 8\ndelay: {before: 1ms, chunk: 200us}\nsteps:\n")
	for n := range asksOfAnAgent {
		use := fmt.Sprintf("%s-%d", id, n)
		note := fmt.Sprintf(`printf '%%-%ds\n' "%s %s $(date +%%s%%N)" >> %s && echo ran`, noteSize-1, id, use, w.ledger)
		fmt.Fprintf(&b, "  - text: Command %d of agent %s follows.\n    tool_uses:\n      - {id: %q, tool: Bash, input: {command: %q}}\n", n, name, use, note)
	}
	b.WriteString("  - text: All commands were tried.\n")
	path := filepath.Join(w.dir, name+".yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// follow connects the two clients, which answer approval requests.
func (w *watchedRun) follow() {
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	home := filepath.Join(filepath.Dir(w.dir), "home")
	for _, name := range []string{"sse", "ws"} {
		c := newClient(newAPI(home), w.id, name)
		c.asked = w.answer
		w.clients = append(w.clients, c)
		w.wg.Go(func() { c.follow(ctx, w.connect[name]) })
	}
}

// leave takes the clients away.
func (w *watchedRun) leave() {
	w.stop()
	w.wg.Wait()
}

func (w *watchedRun) notes() int64 {
	info, err := os.Stat(w.ledger)
	if err != nil {
		return 0
	}
	return info.Size() / noteSize
}

func (w *watchedRun) choice(question string) approval.Decision {
	return Choice(approval.Request{ID: question}, "person").Decision
}

// hold delays answers and release sends them. Those whose connection is lost fail, and are
// given again when the client gets the request again.
func (w *watchedRun) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = true
}

func (w *watchedRun) release() {
	w.mu.Lock()
	queue := w.queue
	w.held, w.queue = false, nil
	w.mu.Unlock()
	for _, send := range queue {
		send()
	}
}

// answer is a client's reaction to an approval request. The WebSocket client answers all of
// them, the other client some, and then disagrees.
func (w *watchedRun) answer(c *client, question string, send func(string) error) {
	w.asked.Add(1)
	decision := w.choice(question)
	switch turn := Choice(approval.Request{ID: question}, "turn "+c.name).Decision; {
	case !turn.Allows() && c.name == "sse":
		return
	case turn.Allows() && c.name == "sse":
		if decision.Allows() {
			decision = approval.Deny
		} else {
			decision = approval.Allow
		}
	}
	w.mu.Lock()
	if w.held {
		w.queue = append(w.queue, func() { w.decide(question, decision, c.name, send) })
		w.mu.Unlock()
		return
	}
	w.mu.Unlock()
	w.decide(question, decision, c.name, send)
}

// decide sends an answer and stores it if the daemon accepts it.
func (w *watchedRun) decide(question string, decision approval.Decision, over string, send func(string) error) {
	err := send(string(decision))
	w.sent.Add(1)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over[over]++
	if over != "ws" { // a frame that was sent is not one that was taken
		w.given[question] = decision
	}
}
