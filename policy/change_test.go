package policy_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

func TestInvalidChanges(t *testing.T) {
	g := running(t, policy.Config{})
	stale := 7
	for name, c := range map[string]struct {
		change policy.Change
		want   error
	}{
		"nothing":         {policy.Change{}, policy.ErrInvalid},
		"two things":      {policy.Change{Mode: policy.ModePlan, Ended: true}, policy.ErrInvalid},
		"unknown mode":    {policy.Change{Mode: "yolo"}, policy.ErrInvalid},
		"unknown grant":   {policy.Change{Revoke: "g9"}, policy.ErrUnknownGrant},
		"stale":           {policy.Change{Mode: policy.ModePlan, IfVersion: &stale}, policy.ErrStale},
		"mode exec":       {policy.Change{Patch: &policy.Patch{Mode: "exec", Allow: []string{"x"}}}, policy.ErrInvalid},
		"no mode":         {policy.Change{Patch: &policy.Patch{Allow: []string{"x"}}}, policy.ErrInvalid},
		"empty patch":     {policy.Change{Patch: &policy.Patch{Mode: "read"}}, policy.ErrInvalid},
		"unknown default": {policy.Change{Patch: &policy.Patch{Mode: "read", Default: "maybe"}}, policy.ErrInvalid},
		"bad glob":        {policy.Change{Patch: &policy.Patch{Mode: "read", Allow: []string{"a[b"}}}, policy.ErrInvalid},
		"bad deny glob":   {policy.Change{Patch: &policy.Patch{Mode: "write", Deny: []string{"ok", "{a"}}}, policy.ErrInvalid},
		"empty glob":      {policy.Change{Patch: &policy.Patch{Mode: "write", Deny: []string{""}}}, policy.ErrInvalid},
	} {
		if _, err := g.Check(c.change); !errors.Is(err, c.want) {
			t.Errorf("%s: checked with %v", name, err)
		}
		if errors.Is(c.want, policy.ErrStale) {
			continue // a log is not asked for a version again
		}
		if err := g.Apply(c.change); !errors.Is(err, c.want) {
			t.Errorf("%s: applied with %v", name, err)
		}
	}
	if g.Version() != 0 || g.Mode() != policy.ModeDefault {
		t.Errorf("version %d, mode %s", g.Version(), g.Mode())
	}
}

func TestInvalidConfigs(t *testing.T) {
	ok := say(policy.NoOpinion)
	for name, c := range map[string]policy.Config{
		"mode":             {Mode: "yolo"},
		"relative folder":  {Folders: []string{"p"}},
		"unclean folder":   {Folders: []string{"/p/../q"}},
		"empty folder":     {Folders: []string{""}},
		"slash at the end": {Folders: []string{"/p/"}},
		"relative home":    {Home: "me"},
		"nameless limit":   {Limits: []policy.NamedPolicy{{Policy: ok}}},
		"nameless policy":  {Policies: []policy.NamedPolicy{{Policy: ok}}},
		"nil policy":       {Policies: []policy.NamedPolicy{{Name: "x"}}},
		"same name":        {Limits: []policy.NamedPolicy{{Name: "x", Policy: ok}}, Policies: []policy.NamedPolicy{{Name: "x", Policy: ok}}},
	} {
		if _, err := policy.New(&c); !errors.Is(err, policy.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if g, err := policy.New(nil); err != nil || g.Mode() != policy.ModeDefault {
		t.Errorf("the zero config: %v", err)
	}
}

func TestCheckFillsIn(t *testing.T) {
	g := running(t, policy.Config{})
	now := 0
	c, err := g.Check(policy.Change{Grant: &policy.Grant{Effect: policy.Allow, Tool: "Edit", Operation: policy.OpWrite, Resource: "/p/a", Name: "mine"}, IfVersion: &now, By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Version != 1 || c.Grant.ID != "g1" || c.Grant.Name != "session-allow-write-a" || c.Grant.At.IsZero() || c.By != "ann" {
		t.Errorf("%+v %+v", c, c.Grant)
	}
	if g.Version() != 0 || len(g.Grants()) != 0 {
		t.Error("checking has changed something")
	}
	if err := g.Apply(c); err != nil || g.Version() != 1 {
		t.Errorf("%v, version %d", err, g.Version())
	}
	if err := g.Apply(c); !errors.Is(err, policy.ErrInvalid) {
		t.Errorf("the same grant twice: %v", err)
	}
	bare := newGuards(t, policy.Config{})
	if _, err := bare.Check(allow(fileGrant("/p/a"))); !errors.Is(err, policy.ErrInvalid) {
		t.Errorf("a grant without an id: %v", err)
	}
}

func TestCheckDoesNotChangeItsArgument(t *testing.T) {
	g := running(t, policy.Config{})
	in := allow(fileGrant("/p/a"))
	if _, err := g.Check(in); err != nil || in.Grant.ID != "" {
		t.Errorf("%v, the caller's grant now is %+v", err, in.Grant)
	}
}

// Every change increases the version, and each decision records it.
func TestVersionsRise(t *testing.T) {
	g := running(t, policy.Config{})
	child, err := g.Child("helper", "")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []policy.Change{
		{Mode: policy.ModePlan},
		{Patch: &policy.Patch{Mode: "read", Allow: []string{"x/**"}}},
		allow(fileGrant("/p/a")),
		{Revoke: "g1"},
		{Ended: true},
	} {
		if got := apply(t, g, c).Version; got != i+1 || g.Version() != i+1 || child.Version() != i+1 {
			t.Errorf("change %d has version %d, the policy %d, the child %d", i+1, got, g.Version(), child.Version())
		}
		if d := judge(g, edit("/p/b")); d.Version != i+1 {
			t.Errorf("a decision after change %d has version %d", i+1, d.Version)
		}
	}
	if err := g.Apply(policy.Change{Mode: policy.ModeDefault, Version: 40}); err != nil || g.Version() != 40 {
		t.Errorf("a change of another process: %v, version %d", err, g.Version())
	}
	if err := g.Apply(policy.Change{Mode: policy.ModeDefault, Version: 3}); err != nil || g.Version() != 41 {
		t.Errorf("an old version: %v, version %d", err, g.Version())
	}
}

func TestTheEndOfTheRun(t *testing.T) {
	g := running(t, policy.Config{})
	apply(t, g, policy.Change{Mode: policy.ModeAcceptEdits})
	apply(t, g, allow(fileGrant("/q/a")))
	apply(t, g, policy.Change{Patch: &policy.Patch{Mode: "write", Default: policy.Deny}})
	apply(t, g, policy.Change{Ended: true})
	if len(g.Grants()) != 0 || g.Mode() != policy.ModeAcceptEdits {
		t.Errorf("grants %v, mode %s", g.Grants(), g.Mode())
	}
	for path, want := range map[string]policy.Effect{"/p/b": policy.Allow, "/q/a": policy.Ask} {
		if d := judge(g, edit(path)); d.Effect != want {
			t.Errorf("%s: %s by %s, want %s", path, d.Effect, d.By, want)
		}
	}
}

func TestPatches(t *testing.T) {
	type step struct {
		patch policy.Patch
		path  string
		want  policy.Effect
	}
	base := func(allow, deny []string, rest policy.Effect) func(*testing.T) policy.Config {
		return func(t *testing.T) policy.Config {
			w, err := policy.PathRules{Allow: allow, Deny: deny, Default: rest, Cwd: "/p"}.WritePolicy()
			if err != nil {
				t.Fatal(err)
			}
			return policy.Config{Policies: []policy.NamedPolicy{{Name: "write-path-policy", Policy: w}}}
		}
	}
	empty := func(*testing.T) policy.Config { return policy.Config{} }
	for name, c := range map[string]struct {
		config func(*testing.T) policy.Config
		steps  []step
	}{
		"adds to what was there": {base([]string{"old/**"}, []string{"secrets/**"}, policy.Ask), []step{
			{policy.Patch{Mode: "write", Allow: []string{"new/**"}}, "/p/new/a", policy.Allow},
			{policy.Patch{Mode: "write", Allow: []string{"other/**"}}, "/p/old/a", policy.Allow},
			{policy.Patch{Mode: "write", Allow: []string{"secrets/**"}}, "/p/secrets/a", policy.Deny},
			{policy.Patch{Mode: "write", Allow: []string{"z"}}, "/p/x", policy.Ask},
		}},
		"deny beats allow, whichever came first": {empty, []step{
			{policy.Patch{Mode: "write", Deny: []string{"x/**"}}, "/p/x/a", policy.Deny},
			{policy.Patch{Mode: "write", Allow: []string{"x/**"}}, "/p/x/a", policy.Deny},
		}},
		"no default leaves it": {base(nil, nil, policy.Deny), []step{
			{policy.Patch{Mode: "write", Allow: []string{"x/**"}}, "/p/y", policy.Deny},
			{policy.Patch{Mode: "write", Default: policy.Allow}, "/p/y", policy.Allow},
			{policy.Patch{Mode: "write", Deny: []string{"z"}}, "/p/y", policy.Allow},
			{policy.Patch{Mode: "write", Default: policy.Ask}, "/p/y", policy.Ask},
		}},
		"for one tool": {empty, []step{
			{policy.Patch{Tool: "Write", Mode: "write", Allow: []string{"**"}}, "/p/y", policy.Ask},
			{policy.Patch{Tool: "Edit", Mode: "write", Allow: []string{"**"}}, "/p/y", policy.Allow},
		}},
		"reading is not writing": {empty, []step{
			{policy.Patch{Mode: "read", Allow: []string{"**"}}, "/p/y", policy.Ask},
			{policy.Patch{Mode: "read", Deny: []string{"**"}}, "/p/y", policy.Ask},
		}},
		"absolute": {empty, []step{
			{policy.Patch{Mode: "write", Allow: []string{"/opt/x/**"}}, "/opt/x/a", policy.Allow},
			{policy.Patch{Mode: "write", Deny: []string{"/opt/**"}}, "/opt/x/a", policy.Deny},
		}},
	} {
		g := running(t, c.config(t))
		before := g.Guard("Edit")
		for i, s := range c.steps {
			apply(t, g, policy.Change{Patch: &s.patch})
			for _, guard := range []*policy.Guard{before, g.Guard("Edit")} {
				d := guard.Judge(t.Context(), []policy.Request{edit(s.path)}, nil)
				if d.Effect != s.want {
					t.Errorf("%s, step %d: %s is %s by %s because %s, want %s", name, i+1, s.path, d.Effect, d.By, d.Reason, s.want)
				}
			}
		}
	}
}

// Changing the arguments of a patch afterwards does not change the patch.
func TestPatchesAreCopied(t *testing.T) {
	g := running(t, policy.Config{})
	deny := []string{"x/**"}
	apply(t, g, policy.Change{Patch: &policy.Patch{Mode: "write", Deny: deny}})
	deny[0] = "y/**"
	if d := judge(g, edit("/p/x/a")); d.Effect != policy.Deny {
		t.Errorf("%+v", d)
	}
}

func TestPatchesReachCommands(t *testing.T) {
	g := running(t, policy.Config{Mode: policy.ModeBypass})
	apply(t, g, policy.Change{Patch: &policy.Patch{Mode: "write", Deny: []string{"out/**"}}})
	apply(t, g, policy.Change{Patch: &policy.Patch{Mode: "read", Deny: []string{"in/**"}, Allow: []string{"ok/**"}}})
	for line, want := range map[string]policy.Effect{
		"echo x > out/a": policy.Deny, "cat in/a": policy.Deny, "cat ok/a": policy.Allow, "cat out/a": policy.Allow, "echo x > in/a": policy.Allow,
	} {
		if d := judge(g, bash(line)); d.Effect != want {
			t.Errorf("%s: %s by %s because %s, want %s", line, d.Effect, d.By, d.Reason, want)
		}
	}
	asks := running(t, policy.Config{})
	apply(t, asks, policy.Change{Patch: &policy.Patch{Mode: "write", Allow: []string{"**"}}})
	if d := judge(asks, bash("make > x")); d.Effect != policy.Ask {
		t.Errorf("a path that may be written does not make a command run: %+v", d)
	}
}

func TestChildren(t *testing.T) {
	g := running(t, policy.Config{Mode: policy.ModeAcceptEdits})
	if _, err := g.Child("x", "yolo"); !errors.Is(err, policy.ErrInvalid) {
		t.Errorf("%v", err)
	}
	for asked, want := range map[policy.Mode]policy.Mode{
		"": policy.ModeAcceptEdits, policy.ModeBypass: policy.ModeAcceptEdits, policy.ModeAuto: policy.ModeAcceptEdits,
		policy.ModePlan: policy.ModePlan, policy.ModeRestricted: policy.ModeRestricted,
	} {
		child, err := g.Child("helper", asked)
		if err != nil {
			t.Fatal(err)
		}
		if child.Mode() != want {
			t.Errorf("asked for %q: %s, want %s", asked, child.Mode(), want)
		}
	}
	child, _ := g.Child("helper", policy.ModeBypass)
	grandchild, _ := child.Child("helper's", policy.ModeAuto)
	for _, m := range []policy.Mode{policy.ModePlan, policy.ModeSilent, policy.ModeBypass} {
		apply(t, g, policy.Change{Mode: m})
		if child.Mode() != m.Stricter(policy.ModeBypass) || grandchild.Mode() != m.Stricter(policy.ModeAuto) {
			t.Errorf("parent %s: child %s, grandchild %s", m, child.Mode(), grandchild.Mode())
		}
	}
	apply(t, child, policy.Change{Mode: policy.ModePlan})
	if g.Mode() != policy.ModeBypass || child.Mode() != policy.ModePlan || grandchild.Mode() != policy.ModePlan {
		t.Errorf("a child's own mode: %s, %s, %s", g.Mode(), child.Mode(), grandchild.Mode())
	}
	apply(t, g, deny(fileGrant("/p/a")))
	apply(t, g, policy.Change{Patch: &policy.Patch{Mode: "write", Deny: []string{"x"}}})
	for _, path := range []string{"/p/a", "/p/x"} {
		if d := judge(grandchild, edit(path)); d.Effect != policy.Deny || d.Agent != "helper's" {
			t.Errorf("%s: %+v", path, d)
		}
	}
}

// A child is never less strict than its parent, whatever mode the child requests or is set to, even
// if the parent's mode changes later.
func TestChildrenAreStricterInEveryMode(t *testing.T) {
	for _, of := range policy.Modes() {
		g := running(t, policy.Config{Mode: of})
		for _, asked := range append(policy.Modes(), "") {
			child, err := g.Child("helper", asked)
			if err != nil {
				t.Fatal(err)
			}
			want := of
			if asked != "" {
				want = of.Stricter(asked)
			}
			if child.Mode() != want || child.Mode().Stricter(of) != child.Mode() {
				t.Errorf("of %s, asked for %q: it is %s, want %s", of, asked, child.Mode(), want)
			}
			for _, set := range policy.Modes() {
				c, err := child.Check(policy.Change{Mode: set, By: "ann"})
				if err == nil {
					err = child.Apply(c)
				}
				if err == nil && child.Mode().Stricter(of) != child.Mode() {
					t.Errorf("of %s, set to %s: it is %s", of, set, child.Mode())
				}
			}
		}
	}
}

func FuzzChange_Parse(f *testing.F) {
	for _, seed := range []string{
		`{"mode":"plan"}`, `{"patch":{"mode":"read","allow":["**"]},"version":3,"if_version":2}`, `{"revoke":"x"}`, `{"ended":true}`,
		`{"grant":{"id":"g1","name":"n","effect":"allow","tool":"Edit","operation":"fs.write","resource":"/p/a","at":"2025-01-01T00:00:00Z"}}`,
		`{"grant":{"id":"g1","effect":"deny","tool":"Bash","scope":"Bash(x:*)","at":"2025-01-01T00:00:00Z"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var c policy.Change
		if err := c.Parse(b); err != nil {
			return
		}
		g := running(t, policy.Config{})
		if g.Apply(c) != nil {
			if g.Version() != 0 {
				t.Errorf("%s was refused and changed something", b)
			}
			return
		}
		if g.Version() < 1 {
			t.Errorf("%s was applied and the version is %d", b, g.Version())
		}
		judge(g, edit("/p/a"))
		g.Guard("Edit").Chain()
	})
}

func TestADisabledModeCannotBeSet(t *testing.T) {
	bypass := policy.Change{Mode: policy.ModeBypass}
	if _, err := policy.New(&policy.Config{Mode: policy.ModeBypass, NoBypass: true}); !errors.Is(err, policy.ErrInvalid) {
		t.Errorf("guards start in a mode that is disabled: %v", err)
	}
	g, err := policy.New(&policy.Config{Mode: policy.ModeAuto, NoBypass: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Check(bypass); !errors.Is(err, policy.ErrInvalid) {
		t.Errorf("a change to the mode that is disabled: %v", err)
	}
	if err := g.Apply(bypass); err != nil || g.Mode() != policy.ModeDefault {
		t.Errorf("somebody else's change: mode %s, %v; want %s", g.Mode(), err, policy.ModeDefault)
	}
	child, err := g.Child("c", policy.ModeBypass)
	if err != nil || child.Mode() != policy.ModeDefault {
		t.Errorf("a child: mode %s, %v; want its parent's", child.Mode(), err)
	}
}

func TestChangeStrict(t *testing.T) {
	for name, c := range map[string]struct {
		change policy.Change
		want   *policy.Change
	}{
		"an allowed file": {change: allow(fileGrant("/p/a"))},
		"a mode":          {change: policy.Change{Mode: policy.ModeBypass}},
		"a revocation":    {change: policy.Change{Revoke: "g1"}},
		"the end":         {change: policy.Change{Ended: true}},
		"allowed paths":   {change: policy.Change{Patch: &policy.Patch{Mode: "write", Allow: []string{"x"}, Default: policy.Ask}}},
		"both": {
			policy.Change{Patch: &policy.Patch{Mode: "write", Allow: []string{"x"}, Deny: []string{"y"}, Default: policy.Allow}, Version: 3},
			&policy.Change{Patch: &policy.Patch{Mode: "write", Deny: []string{"y"}}, Version: 3},
		},
		"a default": {
			policy.Change{Patch: &policy.Patch{Mode: "read", Default: policy.Deny}}, &policy.Change{Patch: &policy.Patch{Mode: "read", Default: policy.Deny}},
		},
	} {
		if got, ok := c.change.Strict(); ok != (c.want != nil) || ok && !reflect.DeepEqual(got, *c.want) {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}
