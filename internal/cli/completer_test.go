package cli

import "testing"

func TestIDWord(t *testing.T) {
	const id, time = "9375988f-28bc-4a9d-8e5c-afe4dbd55b49", "run_01m8j190595dpdphmeznysrrd2"
	for _, tt := range []struct{ id, short, typed, want string }{
		{id, "9375", "", "9375"},
		{id, "9375", "937", "9375"},
		{id, "9375", "9375", "9375"},
		{id, "9375", "93759", id},
		{id, "9375", "94", ""},
		{time, "rrd2", "rr", "rrd2"}, // the end of an id
		{time, "rrd2", "run_", time},
		{"first", "firs", "", "first"},
		{"first", "firs", "x", ""},
	} {
		if got := idWord(tt.id, tt.short, tt.typed); got != tt.want {
			t.Errorf("%q of %q (%s): %q, want %q", tt.typed, tt.id, tt.short, got, tt.want)
		}
	}
}
