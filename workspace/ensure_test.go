package workspace

import (
	"testing"
)

func TestEnsure(t *testing.T) {
	e := testEngine(t)
	w := spaces(t, e, t.TempDir())
	space(t, w, "blog", testImage(t, e, "1"))
	c := ensure(t, w, "blog")
	if got := output(t, w, "blog", "id"); got != "4711 4711\n" {
		t.Errorf("%q", got)
	}
	t.Logf("%+v", c.Health)
}
