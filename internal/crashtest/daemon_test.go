//go:build linux

package crashtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
	"github.com/holdfast-dev/holdfast/session"
)

// The daemon is killed at random times of runs that request approvals, while one client
// follows over a WebSocket and one over server-sent events, and both answer. The next daemon
// has everything that they received, byte for byte; every open request can be answered; every
// approved command ran once; and the clients continue without a gap or a repeat. A full run is
// HOLDFAST_CRASH_TRIALS=2000: 200 kills.
func TestKillTheDaemon(t *testing.T) {
	s := newDaemonSeries(t)
	for range trials(t, 200) {
		s.trial(t)
		if t.Failed() {
			t.Fatalf("stopped at the first fault, kill %d; the daemon said\n%s", s.kills, s.daemon.output)
		}
	}
	s.finish(t)
	t.Log(s)
}

// daemonSeries is a number of kills on one home.
type daemonSeries struct {
	bin, home, dir string
	rng            *rand.Rand
	api            *api
	daemon         *daemonProcess
	run            *watchedRun
	typical        time.Duration // of a run that is not disturbed

	kills, runs, stale, back          int
	questions, ran, unknown, heard    int
	moments, found                    map[string]int
	answeredOver, answeredInterrupted map[string]int
}

func newDaemonSeries(t *testing.T) *daemonSeries {
	t.Helper()
	dir := t.TempDir()
	s := &daemonSeries{
		bin: testprogram.Path(t), dir: dir, home: filepath.Join(dir, "home"), rng: random(t),
		moments: map[string]int{}, found: map[string]int{},
		answeredOver: map[string]int{}, answeredInterrupted: map[string]int{},
	}
	if err := os.Mkdir(s.home, 0o700); err != nil {
		t.Fatal(err)
	}
	// The test is about requests and answers, so commands run without the sandbox.
	settings := `{"permissions": {"ask": ["Bash"]}, "sandbox": {"enabled": false}}`
	if err := os.WriteFile(filepath.Join(s.home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	s.api = newAPI(s.home)
	t.Cleanup(func() {
		if s.run != nil {
			s.run.leave()
		}
		if s.daemon != nil {
			s.daemon.kill()
		}
	})
	s.start(t)
	began := time.Now()
	s.goOn(t)
	s.toTheEnd(t)
	s.typical = time.Since(began)
	s.kill()
	return s
}

func (s *daemonSeries) String() string {
	return fmt.Sprintf("%d kills in %d runs (of %v undisturbed); struck %v; found %v; %d questions, answered over %v and while nothing ran %v; "+
		"%d commands ran, %d of unknown outcome; clients came back %d times and heard %d records",
		s.kills, s.runs, s.typical.Round(time.Millisecond), s.moments, s.found, s.questions, s.answeredOver, s.answeredInterrupted,
		s.ran, s.unknown, s.back, s.heard)
}

func (s *daemonSeries) start(t *testing.T) {
	t.Helper()
	s.daemon = startDaemon(t, s.bin, s.home, nil)
	if err := s.daemon.ready(t.Context(), s.api); err != nil {
		t.Fatal(err)
	}
}

// kill kills the daemon. No client answers until the next daemon was checked.
func (s *daemonSeries) kill() {
	if s.run != nil {
		s.run.hold()
	}
	s.daemon.kill()
}

func (s *daemonSeries) upTo(d time.Duration) time.Duration {
	return time.Duration(s.rng.Int64N(d.Microseconds()+1)) * time.Microsecond
}

// trial starts a daemon, continues the run, and kills the daemon at a random time.
func (s *daemonSeries) trial(t *testing.T) {
	t.Helper()
	if s.rng.IntN(8) == 0 { // before it serves
		s.moments["starting"]++
		s.daemon = startDaemon(t, s.bin, s.home, nil)
		select {
		case <-time.After(s.upTo(80 * time.Millisecond)):
		case <-s.daemon.over:
			t.Errorf("the daemon ended by itself: %s", s.daemon.output)
		}
		s.kill()
		s.kills++
	}
	s.start(t)
	s.check(t)
	s.goOn(t)
	moment := []string{"anywhere", "anywhere", "asked", "answered", "running"}[s.rng.IntN(5)]
	s.moments[moment]++
	s.await(moment)
	s.kill()
	s.kills++
	s.offline(t)
}

// await returns at a moment of a run that goes on, or when it has taken too long.
func (s *daemonSeries) await(moment string) {
	if moment == "anywhere" {
		time.Sleep(s.upTo(s.typical))
		return
	}
	counter := map[string]func() int64{
		"asked":    s.run.asked.Load,
		"answered": s.run.sent.Load,
		"running":  func() int64 { return s.run.notes() },
	}[moment]
	before := counter()
	for deadline := time.Now().Add(s.typical); counter() == before && time.Now().Before(deadline); {
		time.Sleep(200 * time.Microsecond)
	}
	time.Sleep(s.upTo(3 * time.Millisecond))
}

type runInfo struct {
	Status    string
	Questions int
	Error     *struct{ Message string }
}

func (r runInfo) String() string {
	if r.Error == nil {
		return r.Status
	}
	return r.Status + ": " + r.Error.Message
}

func (r runInfo) ended() bool {
	return r.Status == "completed" || r.Status == "failed" || r.Status == "cancelled"
}

// info returns the status of the run; false if it is not recorded.
func (s *daemonSeries) info(t *testing.T) (runInfo, bool) {
	t.Helper()
	var info runInfo
	status, err := s.api.call(t.Context(), http.MethodGet, "/v1/runs/"+s.run.id, nil, &info)
	if status == http.StatusNotFound {
		return info, false
	}
	if err != nil {
		t.Fatal(err)
	}
	return info, true
}

// goOn continues the run, or begins another one when it has ended.
func (s *daemonSeries) goOn(t *testing.T) {
	t.Helper()
	if s.run != nil {
		s.run.release()
		info, there := s.info(t)
		switch {
		case !there: // killed before its first record
			s.stale++
			s.create(t)
			return
		case info.ended():
			s.close(t)
		case info.Status != "interrupted":
			t.Fatalf("after a kill the run is %s", info.Status)
		default:
			if _, err := s.api.call(t.Context(), http.MethodPost, "/v1/runs/"+s.run.id+"/continue", map[string]string{}, nil); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	s.runs++
	s.run = newWatchedRun(t, s)
	s.create(t)
}

func (s *daemonSeries) create(t *testing.T) {
	t.Helper()
	if _, err := s.api.call(t.Context(), http.MethodPost, "/v1/runs", map[string]any{
		"session_id": s.run.id, "strategy": s.run.strategy, "cwd": s.run.dir, "input": "begin",
	}, nil); err != nil {
		t.Fatal(err)
	}
}

// toTheEnd waits until the run has ended.
func (s *daemonSeries) toTheEnd(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		info, there := s.info(t)
		if there && info.ended() {
			if info.Status != "completed" {
				t.Errorf("the run is %s", info.Status)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the run does not end: %+v; the daemon said\n%s", info, s.daemon.output)
		}
	}
}

// check checks what the next daemon has, before anything continues.
func (s *daemonSeries) check(t *testing.T) {
	t.Helper()
	if s.run == nil {
		return
	}
	info, there := s.info(t)
	if !there {
		for _, c := range s.run.clients {
			if c.lastHeard() > 0 {
				t.Errorf("%s has heard of a run that is on no record", c.name)
			}
		}
		return
	}
	s.compare(t, false)
	open := s.pending(t)
	if info.Questions != len(open) {
		t.Errorf("the run has %d open questions, and %d are listed", info.Questions, len(open))
	}
	for _, q := range s.run.open {
		if !open[q] {
			t.Errorf("question %s is open and not listed", q)
		}
	}
	if s.rng.IntN(2) == 0 {
		return
	}
	for q := range open { // nothing runs: it can be answered all the same
		s.run.decide(q, s.run.choice(q), "nobody", func(decision string) error {
			_, err := s.api.call(t.Context(), http.MethodPost, "/v1/approvals/"+q+"/decision", map[string]string{"decision": decision}, nil)
			if err != nil {
				t.Error(err)
			} else {
				s.answeredInterrupted[decision]++
			}
			return err
		})
	}
}

// pending are the open questions of the run, by id.
func (s *daemonSeries) pending(t *testing.T) map[string]bool {
	t.Helper()
	var list struct {
		Items []struct {
			ID    string
			RunID string `json:"run_id"`
		}
	}
	if _, err := s.api.call(t.Context(), http.MethodGet, "/v1/approvals?limit=500", nil, &list); err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{}
	for _, a := range list.Items {
		if a.RunID == s.run.id {
			open[a.ID] = true
		}
	}
	return open
}

// compare holds what the clients have heard against what is on record.
func (s *daemonSeries) compare(t *testing.T, whole bool) {
	t.Helper()
	for _, c := range s.run.clients {
		all, err := replay(t.Context(), s.api, s.run.id, c.name, s.run.connect[c.name])
		if err != nil {
			t.Error(err)
			continue
		}
		for _, f := range c.compare(all, whole) {
			t.Error(f)
		}
	}
}

// offline compares what the clients received with the records.
func (s *daemonSeries) offline(t *testing.T) {
	t.Helper()
	s.run.open = nil
	stage := "nothing asked"
	for _, a := range s.asked(t, false) {
		stage = a.Stage()
		if len(a.Answers) == 0 {
			s.run.open = append(s.run.open, a.Question.ID)
		}
	}
	s.found[stage]++
}

// asked reads and checks the approval requests of the run's sessions. Over means that the run
// has ended.
func (s *daemonSeries) asked(t *testing.T, over bool) []*ApprovalState {
	t.Helper()
	store, err := OpenStore("sqlite", s.home)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := CloseStore(store); err != nil {
			t.Error(err)
		}
	}()
	var list []*ApprovalState
	s.run.unasked = 0
	for _, id := range s.run.sessions {
		part, unasked, err := ReadApprovals(t.Context(), store, s.run.id, id, s.run.ledger)
		if err != nil && !errors.Is(err, session.ErrNotFound) {
			t.Fatal(err)
		}
		list = append(list, part...)
		s.run.unasked += len(unasked)
		for _, use := range unasked {
			for _, c := range s.run.clients {
				if frame := c.heardAsked(id, use); frame != "" {
					t.Errorf("%s was told of a question about %s of %s, which is on no record: %s", c.name, use, id, frame)
				}
			}
		}
	}
	for _, a := range list {
		if err := a.Check(over); err != nil {
			t.Error(err)
		}
		s.run.mu.Lock()
		given, ok := s.run.given[a.Question.ID]
		s.run.mu.Unlock()
		if ok && (len(a.Answers) == 0 || a.Answers[0].Decision != given) {
			t.Errorf("%s: %s was taken, and on record is %+v", a.Question.Use, given, a.Answers)
		}
	}
	return list
}

// close looks at a run that has ended, and sums up.
func (s *daemonSeries) close(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for _, c := range s.run.clients {
		all, err := replay(t.Context(), s.api, s.run.id, c.name, s.run.connect[c.name])
		if err != nil {
			t.Fatal(err)
		}
		for c.lastHeard() < all.last && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
	}
	s.run.leave()
	s.compare(t, true)
	list := s.asked(t, true)
	if info, _ := s.info(t); info.Status != "completed" {
		t.Errorf("the run is %s: %+v", info.Status, info.Error)
	}
	if want := s.run.uses - s.run.unasked; len(list) != want {
		s.logRecords(t)
		t.Errorf("%d questions were asked, want %d", len(list), want)
	}
	for _, a := range list {
		s.questions++
		s.ran += a.Runs.Times
		switch {
		case a.Started == 0 || strings.HasPrefix(a.Result, "ran"):
		case a.Result == history.OutcomeUnknown:
			s.unknown++
		default:
			t.Errorf("%s started, and the model was told %q", a.Question.Use, a.Result)
		}
	}
	for _, c := range s.run.clients {
		s.back += c.reconnects - 1
		s.heard += len(c.by)
	}
	for over, n := range s.run.over {
		s.answeredOver[over] += n
	}
	s.run = nil
}

// finish lets the last run end.
func (s *daemonSeries) finish(t *testing.T) {
	t.Helper()
	s.start(t)
	s.check(t)
	s.goOn(t)
	s.toTheEnd(t)
	s.close(t)
	s.kill()
	s.verify(t)
}
