package lazyregexp

import "testing"

func TestMust(t *testing.T) {
	name := Must(`^[a-z]+$`)
	if !name().MatchString("abc") || name().MatchString("1") {
		t.Error("it matches something else")
	}
	if first := name(); first != name() {
		t.Error("it is compiled again")
	}
	bad := Must(`(`) // says nothing yet
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	bad()
}
