//go:build unix

package crashtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Two processes repeatedly compete for one session: one wins, the other gets an error, and the
// log contains what was acknowledged, once, in the order of the leases. A full run is
// HOLDFAST_CRASH_TRIALS=2000: 1,000 trials on each store.
func TestContend(t *testing.T) {
	for _, p := range places(t) {
		t.Run(p.store, func(t *testing.T) {
			s := &contentionSeries{place: p, rng: random(t), outcomes: map[string]int{}}
			s.a, s.b = startContender(t, p), startContender(t, p)
			own, err := OpenStore(p.store, p.dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = CloseStore(own) })
			s.store, s.sessions = own, session.New(own, nil)
			n := 48
			if !slices.Contains(Stores, p.store) {
				n = 16
			}
			if os.Getenv("HOLDFAST_CRASH_TRIALS") != "" {
				n = trials(t, 1000)
			}
			began := time.Now()
			for ; s.n < n && !t.Failed(); s.n++ {
				s.id = fmt.Sprintf("contest-%d-%d", os.Getpid(), s.n)
				s.trial(t)
			}
			t.Logf("%d trials in %v: %v", s.n, time.Since(began).Round(time.Second), s.outcomes)
			t.Logf("takeover after kill -9: %s", spread(s.takeovers))
			t.Logf("takeover after SIGSTOP, from the end of the lease: %s", spread(s.waits))
		})
	}
}

// takeoverLimit is how long a session may stay busy after its holder was killed.
const takeoverLimit = time.Second

// contentionSeries is a series of trials.
type contentionSeries struct {
	place    place
	rng      *rand.Rand
	a, b     *process
	store    session.Store
	sessions *session.Sessions

	n                int
	id               string
	outcomes         map[string]int
	takeovers, waits []time.Duration
}

func (s *contentionSeries) trial(t *testing.T) {
	t.Helper()
	if s.rng.IntN(2) == 0 {
		s.a, s.b = s.b, s.a
	}
	switch s.n % 6 {
	case 0:
		s.race(t, "create", Command{Do: "create", Session: s.id})
	case 1:
		s.create(t)
		s.race(t, "open", Command{Do: "open", Session: s.id})
	case 2:
		s.change(t)
	case 3:
		s.takeover(t)
	case 4:
		s.kill(t)
	case 5:
		s.stop(t)
	}
	for _, p := range []*process{s.a, s.b} {
		p.ask(t, Command{Do: "close"}) // of who was fenced: nothing to give back
	}
	if err := s.sessions.Delete(t.Context(), s.id); err != nil {
		t.Errorf("%s cannot be deleted: %v", s.id, err)
	}
}

// create creates the session and closes it; it returns what was acknowledged.
func (s *contentionSeries) create(t *testing.T) []Ack {
	t.Helper()
	r := s.a.must(t, Command{Do: "create", Session: s.id})
	s.a.must(t, Command{Do: "close"})
	return r.Acked
}

// race sends both the same command at the same time: one wins and continues.
func (s *contentionSeries) race(t *testing.T, name string, o Command) {
	t.Helper()
	got := s.both(t, o, o)
	winner, loser := s.a, got[1]
	if got[0].Err != "" {
		winner, loser = s.b, got[0]
	}
	if (got[0].Err == "") == (got[1].Err == "") || !slices.Contains([]string{"exists", "busy", "conflict", "fenced"}, loser.Err) {
		t.Errorf("%s: %+v", name, got)
		return
	}
	s.outcomes[name+": the other is told "+loser.Err]++
	first := append(got[0].Acked, got[1].Acked...)
	s.verify(t, first, winner.must(t, Command{Do: "append", Session: s.id, Times: 2}).Acked)
}

// change lets both append a shared record after the same record.
func (s *contentionSeries) change(t *testing.T) {
	t.Helper()
	first := s.create(t)
	o := Command{Do: "change", Session: s.id, Head: first[0].Seq, Digest: first[0].Digest}
	got := s.both(t, o, o)
	loser := got[0].Err + got[1].Err
	if (got[0].Err == "") == (got[1].Err == "") || loser != "conflict" {
		t.Errorf("change: %+v", got)
		return
	}
	s.outcomes["change: the other is told "+loser]++
	s.verify(t, first, append(got[0].Acked, got[1].Acked...))
}

// takeover takes the session from a process that is in the middle of writing.
func (s *contentionSeries) takeover(t *testing.T) {
	t.Helper()
	first := s.a.must(t, Command{Do: "create", Session: s.id}).Acked
	s.a.tell(t, Command{Do: "append", Session: s.id})
	time.Sleep(time.Duration(s.rng.IntN(5000)) * time.Microsecond)
	s.b.must(t, Command{Do: "open", Session: s.id, Takeover: true})
	after := s.b.must(t, Command{Do: "append", Session: s.id, Times: 3}).Acked
	stale := s.a.reply(t)
	if stale.Err != "fenced" {
		t.Errorf("takeover: the other was told %+v", stale)
	}
	s.outcomes["takeover: the other is told "+stale.Err]++
	s.verify(t, first, stale.Acked, after)
}

// kill kills the holder in the middle of writing, and measures how long it takes until
// the other has the session.
func (s *contentionSeries) kill(t *testing.T) {
	t.Helper()
	first := s.a.must(t, Command{Do: "create", Session: s.id}).Acked
	s.a.tell(t, Command{Do: "append", Session: s.id})
	s.b.tell(t, Command{Do: "open", Session: s.id, Patient: true})
	time.Sleep(time.Duration(s.rng.IntN(10_000)) * time.Microsecond)
	killed := time.Now()
	s.a.kill()
	opened := s.b.reply(t)
	took := time.Unix(0, opened.At).Sub(killed)
	if opened.Err != "" || took > takeoverLimit {
		t.Errorf("after kill -9 the session was open elsewhere after %v: %+v", took, opened)
		return
	}
	s.takeovers = append(s.takeovers, took)
	s.outcomes["kill: taken over"]++
	s.a = startContender(t, s.place)
	// What was acknowledged to the killed process is unknown: its reply was lost with it.
	s.verify(t, first, nil, s.b.must(t, Command{Do: "append", Session: s.id, Times: 2}).Acked)
}

// stop freezes the holder until its lease has expired and the other has the session, and then
// lets it continue.
func (s *contentionSeries) stop(t *testing.T) {
	t.Helper()
	const ttl = 60 * time.Millisecond
	first := s.a.must(t, Command{Do: "create", Session: s.id, TTL: ttl}).Acked
	before := s.a.must(t, Command{Do: "append", Session: s.id, Times: 1}).Acked
	s.a.signal(t, syscall.SIGSTOP)
	opened, held := s.openBesideStopped(t)
	if held != nil {
		s.waits = append(s.waits, time.Unix(0, opened.At).Sub(held.Expires))
	}
	after := s.b.must(t, Command{Do: "append", Session: s.id, Times: 2}).Acked
	s.a.signal(t, syscall.SIGCONT)
	stale := s.a.ask(t, Command{Do: "append", Session: s.id, Times: 1})
	if stale.Err != "fenced" {
		t.Errorf("stop: the stale writer was told %+v", stale)
	}
	s.outcomes["stop: the stale writer is told "+stale.Err]++
	s.verify(t, first, before, after)
}

// openBesideStopped opens the session while its holder is stopped. If the holder was stopped
// during a renewal, it has locked the store and all others wait. That is safe but does not end
// by itself, so the holder is continued briefly. Held is the lease that had to end; nil if the
// holder continued in between.
func (s *contentionSeries) openBesideStopped(t *testing.T) (Reply, *session.Lease) {
	t.Helper()
	held, err := s.sessions.Lease(t.Context(), s.id)
	if err != nil {
		held = nil
	}
	// For a file, a stopped process is alive: it has its lock, and nothing expires.
	local := s.place.store == "file" || s.place.store == "sqlite"
	s.b.tell(t, Command{Do: "open", Session: s.id, Patient: true, Takeover: local})
	got := make(chan Reply, 1)
	go func() {
		r, err := s.b.next()
		if err != nil {
			r.Err = err.Error()
		}
		got <- r
	}()
	for {
		select {
		case r := <-got:
			if r.Err != "" {
				t.Fatalf("open beside a stopped process: %+v", r)
			}
			return r, held
		case <-time.After(time.Second):
			held = nil
			s.outcomes["stop: in the middle of a write"]++
			s.a.signal(t, syscall.SIGCONT)
			time.Sleep(5 * time.Millisecond)
			s.a.signal(t, syscall.SIGSTOP)
		}
	}
}

// both gives an order to each at about the same time.
func (s *contentionSeries) both(t *testing.T, a, b Command) [2]Reply {
	t.Helper()
	s.a.tell(t, a)
	time.Sleep(time.Duration(s.rng.IntN(300)) * time.Microsecond)
	s.b.tell(t, b)
	return [2]Reply{s.a.reply(t), s.b.reply(t)}
}

// verify checks that the log has what was acknowledged, in that order, and nothing else. nil
// stands for any number of records.
func (s *contentionSeries) verify(t *testing.T, parts ...[]Ack) {
	t.Helper()
	recs, err := read(t.Context(), s.sessions, s.id)
	if err != nil {
		t.Fatalf("%s: %v", s.id, err)
	}
	f := &Finding{}
	f.meta(t.Context(), s.sessions, s.id, recs)
	at, gap := 0, false
	for _, part := range parts {
		gap = gap || part == nil
		for _, a := range part {
			for gap && at < len(recs) && recs[at].Digest != a.Digest {
				at++
			}
			if at >= len(recs) || recs[at].Digest != a.Digest {
				t.Fatalf("%s: record %d (%s) was acknowledged and is not where it should be", s.id, a.Seq, a.ID)
			}
			at, gap = at+1, false
		}
	}
	if at < len(recs) {
		f.wrong("%s has %d records, %d were acknowledged", s.id, len(recs), at)
	}
	for _, p := range f.Problem {
		t.Error(p)
	}
}

// process is a contender in a separate process.
type process struct {
	cmd     *exec.Cmd
	orders  io.WriteCloser
	replies *bufio.Reader
}

func startContender(t *testing.T, p place) *process {
	t.Helper()
	task, err := json.Marshal(Task{Store: p.store, Dir: p.dir, Work: "contend", Ledger: os.DevNull})
	if err != nil {
		t.Fatal(err)
	}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out := &process{cmd: exec.Command(os.Args[0]), replies: bufio.NewReader(from)}
	out.cmd.Env = append(os.Environ(), childVar+"="+string(task), "GOMAXPROCS=2")
	out.cmd.ExtraFiles = []*os.File{to}
	out.cmd.Stderr = os.Stderr
	if out.orders, err = out.cmd.StdinPipe(); err == nil {
		err = out.cmd.Start()
	}
	_ = to.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		out.kill()
		_ = from.Close()
	})
	if line, err := out.replies.ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready") {
		t.Fatalf("a contender says %q, %v", line, err)
	}
	return out
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	_ = p.cmd.Wait()
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func (p *process) tell(t *testing.T, o Command) {
	t.Helper()
	b, err := json.Marshal(o)
	if err == nil {
		_, err = p.orders.Write(append(b, '\n'))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p *process) reply(t *testing.T) Reply {
	t.Helper()
	r, err := p.next()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (p *process) next() (r Reply, err error) {
	line, err := p.replies.ReadString('\n')
	text, ok := strings.CutPrefix(line, "reply ")
	if err == nil && ok {
		err = json.Unmarshal([]byte(text), &r)
	}
	if err != nil || !ok {
		return r, fmt.Errorf("a contender says %q, %w", line, err)
	}
	return r, nil
}

func (p *process) ask(t *testing.T, o Command) Reply {
	t.Helper()
	p.tell(t, o)
	return p.reply(t)
}

func (p *process) must(t *testing.T, o Command) Reply {
	t.Helper()
	r := p.ask(t, o)
	if r.Err != "" {
		t.Fatalf("%s: %s: %s", o.Do, r.Err, r.Text)
	}
	return r
}

func spread(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	slices.Sort(d)
	return fmt.Sprintf("%d; median %v, p99 %v, longest %v", len(d), d[len(d)/2], d[len(d)*99/100], d[len(d)-1])
}
