package corpus

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Claim runs each case as a subtest named by its id. A key of handled is a case id, or an area: then it is for all
// cases of the area that have no entry of their own. The map named has, by case id, the reason why a case is not
// run here. The test fails when a case is in neither map, is in both by its id, or when a key fits no case.
func Claim(t *testing.T, cases []Case, handled map[string]func(*testing.T, Case), named map[string]string) {
	t.Helper()
	plan, problems := claim(cases, handled, named)
	for _, p := range problems {
		t.Error(p)
	}
	for i, c := range cases {
		if run := plan[i]; run != nil {
			t.Run(c.ID, func(t *testing.T) {
				run(t, c)
				if list := c.unread(); len(list) > 0 && !t.Failed() && !t.Skipped() {
					t.Errorf("the test does not read these fields of the case: %s", strings.Join(list, ", "))
				}
			})
		} else if why := named[c.ID]; why != "" {
			t.Logf("%s (%s) is not run here: %s", c.ID, c.Name, why)
		}
	}
}

// Test checks that a case still has the content that a test was written for: claim is that content, a JSON
// object of its settings, input, given, when and expect. If the case changes, the test fails until a developer
// has adapted it.
func Test(claim string, test func(*testing.T, Case)) func(*testing.T, Case) {
	return func(t *testing.T, c Case) {
		t.Helper()
		if err := c.CompareClaim(claim); err != nil {
			t.Fatal(err)
		}
		test(t, c)
	}
}

// CompareClaim compares the content of a case with the content that a test expects.
func (c Case) CompareClaim(claim string) error {
	var want map[string]any
	if err := json.Unmarshal([]byte(claim), &want); err != nil {
		return fmt.Errorf("%s: the claim of the test is not a JSON object: %w", c.ID, err)
	}
	for _, name := range []string{"settings", "input", "given", "when", "expect"} {
		var is any
		raw := c.lookup(name)
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &is); err != nil {
				return fmt.Errorf("%s: %s: %w", c.ID, name, err)
			}
		}
		if isEmpty(is) && isEmpty(want[name]) {
			continue
		}
		if !reflect.DeepEqual(is, want[name]) {
			return fmt.Errorf("%s: its %s is %s, and the test plays %v", c.ID, name, raw, want[name])
		}
	}
	return nil
}

func isEmpty(v any) bool {
	m, object := v.(map[string]any)
	return v == nil || object && len(m) == 0
}

// claim finds the test function of each case; nil if it has none.
func claim(cases []Case, handled map[string]func(*testing.T, Case), named map[string]string) (plan []func(*testing.T, Case), problems []string) {
	used := map[string]bool{}
	ids := map[string]bool{}
	plan = make([]func(*testing.T, Case), len(cases))
	for i, c := range cases {
		ids[c.ID] = true
		byID, hasOwn := handled[c.ID]
		byArea, area := handled[c.Area]
		why, skip := named[c.ID]
		switch {
		case hasOwn && skip:
			problems = append(problems, fmt.Sprintf("%s is both handled and named", c.ID))
		case hasOwn:
			plan[i], used[c.ID] = byID, true
		case skip && why == "":
			problems = append(problems, fmt.Sprintf("%s is named without a reason", c.ID))
		case skip:
		case area:
			plan[i], used[c.Area] = byArea, true
		default:
			problems = append(problems, fmt.Sprintf("no test handles %s (%s): %s", c.ID, c.Area, c.Name))
		}
	}
	for key := range handled {
		if !used[key] && named[key] == "" {
			problems = append(problems, fmt.Sprintf("%s is handled and fits no case", key))
		}
	}
	for id := range named {
		if !ids[id] {
			problems = append(problems, fmt.Sprintf("%s is named and fits no case", id))
		}
	}
	slices.Sort(problems)
	return plan, problems
}
