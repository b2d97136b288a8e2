package cgroup

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestInvalidLimits(t *testing.T) {
	for want, l := range map[string]Limits{
		"limit of memory: -1 bytes":    {Memory: -1},
		"limit of processes: -1":       {Processes: -1},
		"limit of processors: -1":      {CPUs: -1},
		"limit of processors: 0.001":   {CPUs: 0.001},
		"limit of processors: NaN":     {CPUs: math.NaN()},
		"limit of processors: +Inf is": {CPUs: math.Inf(1)},
	} {
		for name, err := range map[string]error{"Allows": Support{}.Allows(l), "Open": opened(l)} {
			if err == nil || errors.Is(err, ErrUnavailable) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
}

func opened(l Limits) error {
	g, err := Open(l)
	if err == nil {
		err = g.Close()
	}
	return err
}

func TestAllows(t *testing.T) {
	s := Support{Controllers: []Controller{{Name: memory, Available: true}, {Name: pids, Reason: "it is not mine", Hint: "ask"}}}
	for _, tt := range []struct {
		l       Limits
		absent  string
		message string
	}{
		{Limits{}, "", ""},
		{Limits{Memory: 1}, "", ""},
		{Limits{Memory: 1, Processes: 1}, pids, "limit of processes: cannot create a control group: it is not mine"},
		{Limits{CPUs: 1}, cpu, "limit of processors: cannot create a control group: this system has no control groups"},
	} {
		err := s.Allows(tt.l)
		if tt.absent == "" {
			if err != nil {
				t.Errorf("%+v: %v", tt.l, err)
			}
			continue
		}
		e, ok := errors.AsType[*UnavailableError](err)
		if !ok || e.Controller != tt.absent || e.Error() != tt.message || !errors.Is(err, ErrUnavailable) {
			t.Errorf("%+v: %v", tt.l, err)
		}
	}
}

func TestOpenWithoutLimits(t *testing.T) {
	g, err := Open(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Procs()) != 0 || g.OOM() != 0 || g.Peak() != 0 || g.RefusedForks() != 0 {
		t.Error("a group without limits has something")
	}
	if err := errors.Join(g.Kill(), g.Close(), g.Close()); err != nil {
		t.Error(err)
	}
}
