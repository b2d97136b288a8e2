package daemon

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

func newLaneSocket(pending int) *socket {
	l := defaultLimits()
	l.pending = pending
	return newSocket(&sockets{o: &Options{}, limits: l}, auth.Caller{}, true)
}

// Requests about one run keep their order and wait for no others.
func TestLanes(t *testing.T) {
	c := newLaneSocket(100)
	var mu sync.Mutex
	var done []int
	gate := make(chan struct{})
	for i := range 10 {
		c.enqueue("run a", func() {
			<-gate
			mu.Lock()
			defer mu.Unlock()
			done = append(done, i)
		})
	}
	for range 3 { // one after the other, while those of run a wait
		other := make(chan struct{})
		c.enqueue("question q", func() { close(other) })
		<-other
	}
	close(gate)
	c.jobs.Wait()
	if !slices.Equal(done, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) || len(c.lanes) != 0 || c.busy != 0 {
		t.Errorf("%v, %d lanes, %d busy", done, len(c.lanes), c.busy)
	}
}

func TestLaneLimit(t *testing.T) {
	c := newLaneSocket(4)
	gate := make(chan struct{})
	for i := range 6 {
		if took, want := c.enqueue(fmt.Sprint("run ", i%2), func() { <-gate }), i < 4; took != want {
			t.Errorf("%d: %v", i, took)
		}
	}
	close(gate)
	c.jobs.Wait()
	if !c.enqueue("run 0", func() {}) {
		t.Error("the lane accepted more requests than the limit")
	}
	c.jobs.Wait()
}

// Every client message has a lane, and is accepted only from a caller with the right scope.
func TestScopeOfRequests(t *testing.T) {
	for name, want := range map[string]struct {
		scope api.Scope
		lane  string
		frame string
	}{
		"ping":                {api.ScopeRead, "run ", `{"type":"ping"}`},
		"subscribe":           {api.ScopeRead, "run r", `{"type":"subscribe","runId":"r"}`},
		"unsubscribe":         {api.ScopeRead, "run r", `{"type":"unsubscribe","runId":"r"}`},
		"list_runs":           {api.ScopeRead, "run ", `{"type":"list_runs"}`},
		"list_strategies":     {api.ScopeRead, "run ", `{"type":"list_strategies"}`},
		"prepare_run":         {api.ScopeRun, "run r", `{"type":"prepare_run","runId":"r"}`},
		"start_run":           {api.ScopeRun, "run r", `{"type":"start_run","runId":"r"}`},
		"continue_run":        {api.ScopeRun, "run r", `{"type":"continue_run","runId":"r"}`},
		"stop_run":            {api.ScopeRun, "run r", `{"type":"stop_run","runId":"r"}`},
		"user_input":          {api.ScopeRun, "run r", `{"type":"user_input","runId":"r","agentName":"a","text":"t"}`},
		"steer_run":           {api.ScopeRun, "run r", `{"type":"steer_run","runId":"r","text":"t"}`},
		"update_policy":       {api.ScopeApprove, "run r", `{"type":"update_policy","runId":"r","mode":"read","allow":["x"]}`},
		"set_mode":            {api.ScopeApprove, "run r", `{"type":"set_mode","runId":"r","mode":"plan"}`},
		"permission_decision": {api.ScopeApprove, "question q", `{"type":"permission_decision","runId":"r","permissionRequestId":"q","decision":"deny"}`},
	} {
		req, bad := wire.Decode([]byte(want.frame))
		if bad != nil {
			t.Errorf("%s: %v", name, bad)
			continue
		}
		if s := scopeOf(req); s != want.scope {
			t.Errorf("%s needs %s", name, s)
		}
		if l := laneOf(req); l != want.lane {
			t.Errorf("%s is in lane %q", name, l)
		}
		agentCaller := auth.Caller{Agent: true, Scopes: []api.Scope{api.ScopeAdmin, api.ScopeRead, api.ScopeRun, api.ScopeApprove}}
		if agentCaller.HasScope(scopeOf(req)) != (want.scope == api.ScopeRead) {
			t.Errorf("%s from an agent of a run", name)
		}
	}
	if s := scopeOf(&wire.Hello{}); s != api.ScopeAdmin {
		t.Errorf("an unlisted request needs %s", s)
	}
}
