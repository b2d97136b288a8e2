package outcome

import "testing"

// Each outcome of requests has a unique code, an exit code of a command outcome, and a failure status.
func TestRequests(t *testing.T) {
	exits, codes := map[int]bool{}, map[string]bool{}
	for _, o := range All() {
		exits[o.Exit], codes[o.Code] = true, true
	}
	last := 0
	for _, o := range Requests() {
		if codes[o.Code] {
			t.Errorf("code %q appears twice", o.Code)
		}
		codes[o.Code] = true
		if !exits[o.Exit] || o.Status < 400 || o.Status < last || o.Meaning == "" {
			t.Errorf("%+v does not fit in", o)
		}
		last = o.Status
	}
}

func TestByCode(t *testing.T) {
	for _, want := range append(All(), Requests()...) {
		if got, ok := ByCode(want.Code); !ok || got != want {
			t.Errorf("ByCode(%q) = %+v, %v", want.Code, got, ok)
		}
	}
	if _, ok := ByCode("no such code"); ok {
		t.Error("an unknown code was found")
	}
}
