package holdfast_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/daemon/client"
)

// A runtime and a client of a daemon start runs with the same methods, and a run has the same methods wherever
// it works.
func TestDaemonRunHasSameMethods(t *testing.T) {
	for name, pair := range map[string][2]reflect.Type{
		"Run":     {reflect.TypeFor[*holdfast.Run](), reflect.TypeFor[*client.Run]()},
		"Runtime": {reflect.TypeFor[*holdfast.Runtime](), reflect.TypeFor[*client.Client]()},
	} {
		here, there := pair[0], pair[1]
		for m := range here.Methods() {
			switch m.Name {
			case "Approvals", "Policy", "Sessions": // a client has the daemon's own resources
				continue
			case "Close": // a client has nothing to close that can fail
				continue
			case "Prompt": // in a client it is Start and Wait
				continue
			}
			other, ok := there.MethodByName(m.Name)
			if !ok {
				t.Errorf("%v has no %s", there, m.Name)
				continue
			}
			if want, got := signature(m.Type), signature(other.Type); want != got {
				t.Errorf("%s.%s is %s here, and there %s", name, m.Name, want, got)
			}
		}
	}
}

// signature returns the signature of a method without its receiver, with the two types of a run treated as
// one.
func signature(f reflect.Type) string {
	var in, out []string
	for i := 1; i < f.NumIn(); i++ {
		in = append(in, f.In(i).String())
	}
	for i := range f.NumOut() {
		out = append(out, f.Out(i).String())
	}
	text := strings.Join(in, ", ") + " → " + strings.Join(out, ", ")
	return strings.ReplaceAll(text, "*holdfast.Run", "*client.Run")
}
