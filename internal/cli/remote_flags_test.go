package cli

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// travels are the fields of run that the daemon is given, or that say how the run is shown,
// where it is found, or that it is here.
var travels = []string{
	"Prompt", "Model", "CWD", "PermissionMode", "Settings", "OnAsk", "Continue", "Resume", "SessionID", "ForkSession", "WithGrants", "At", "Name",
	"NoDaemon", "Store", "Workspace", "OutputFormat", "IncludePartialMessages", "MaxBudgetUSD", "Quiet", "Verbose", "OnlyTools",
}

// TestNoFlagOfRunIsLostOnTheWayToTheDaemon: a flag reaches the daemon, or keeps the run here.
func TestNoFlagOfRunIsLostOnTheWayToTheDaemon(t *testing.T) {
	var each func(typ reflect.Type, index []int)
	each = func(typ reflect.Type, index []int) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			at := append(slices.Clone(index), i)
			if f.Anonymous {
				each(f.Type, at)
				continue
			}
			if !f.IsExported() || slices.Contains(travels, f.Name) {
				continue
			}
			var c runCmd
			v := reflect.ValueOf(&c).Elem().FieldByIndex(at)
			switch x := v.Addr().Interface().(type) {
			case *bool:
				*x = true
			case *string:
				*x = "x"
			case *[]string:
				*x = []string{"x"}
			case *int:
				*x = 1
			case *float64:
				*x = 1
			case *time.Duration:
				*x = time.Second
			case *worktreeFlag:
				x.wanted = true
			default:
				t.Errorf("%s: a flag of another type, %s", f.Name, v.Type())
			}
			if c.onlyHere() == "" {
				t.Errorf("%s is ignored in the daemon", f.Name)
			}
		}
	}
	each(reflect.TypeFor[runCmd](), nil)
}

func TestStructuredResultsAreShown(t *testing.T) {
	r := tool.Result{Content: []transcript.Part{transcript.Structured{Value: []byte(`{"degrees":21}`)}}}
	if got := resultText(r); got != `{"degrees":21}` {
		t.Errorf("shown as %q", got)
	}
}
