package command

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

func TestEnvAndHome(t *testing.T) {
	p := Program{Env: []string{"A=1", "A=2", "HOME=/h", "AB=3"}}
	if got := p.Getenv("A"); got != "2" {
		t.Errorf("A = %q", got)
	}
	if got := p.Getenv("B"); got != "" {
		t.Errorf("B = %q", got)
	}
	if got, err := p.Home(); got != "/h/.holdfast" || err != nil {
		t.Errorf("home = %q, %v", got, err)
	}
	p.Env = append(p.Env, "HOLDFAST_HOME=/other")
	if got, err := p.Home(); got != "/other" || err != nil {
		t.Errorf("home = %q, %v", got, err)
	}
	p.Env = nil
	if _, err := p.Home(); outcome.FromError(err) != outcome.Usage {
		t.Errorf("no home: %v", err)
	}
}
