package policy_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

// The expected table is written a second time: a change of it changes behavior that users rely on.
func TestTable(t *testing.T) {
	const a, q, d = policy.Allow, policy.Ask, policy.Deny
	modes := []policy.Mode{
		policy.ModeRestricted, policy.ModeSilent, policy.ModeDontAsk, policy.ModePlan,
		policy.ModeDefault, policy.ModeAcceptEdits, policy.ModeAuto, policy.ModeBypass,
	}
	table := map[policy.Kind][]policy.Effect{
		policy.KindRead:        {d, a, a, a, a, a, a, a},
		policy.KindReadOutside: {d, d, d, q, q, q, a, a},
		policy.KindSecret:      {d, d, d, q, q, q, d, a},
		policy.KindEdit:        {d, d, d, q, q, a, a, a},
		policy.KindEditOutside: {d, d, d, q, q, q, d, a},
		policy.KindSafe:        {d, a, a, a, a, a, a, a},
		policy.KindCommand:     {d, d, d, q, q, q, a, a},
		policy.KindUnclear:     {d, d, d, q, q, q, q, a},
		policy.KindDangerous:   {d, d, d, q, q, q, d, a},
		policy.KindFetch:       {d, d, a, a, a, a, a, a},
		policy.KindNetwork:     {d, d, d, q, q, q, a, a},
		policy.KindReach:       {d, d, d, q, q, q, q, q},
		policy.KindMCP:         {d, d, d, q, q, q, a, a},
		policy.KindOther:       {d, d, d, q, q, q, a, a},
	}
	if len(table) != len(policy.Kinds()) {
		t.Errorf("the test knows %d kinds, the package %d", len(table), len(policy.Kinds()))
	}
	for _, k := range policy.Kinds() {
		for i, m := range modes {
			if got := m.Decide(k); got != table[k][i] {
				t.Errorf("mode %s, %s: %s, want %s", m, k, got, table[k][i])
			}
		}
	}
}

func TestUnknownModesAndKindsAsk(t *testing.T) {
	for _, k := range policy.Kinds() {
		if got := policy.Mode("yolo").Decide(k); got != policy.Ask {
			t.Errorf("an unknown mode says %s to %s", got, k)
		}
		if got, want := policy.Mode("").Decide(k), policy.ModeDefault.Decide(k); got != want {
			t.Errorf("the absent mode says %s to %s, the default %s", got, k, want)
		}
	}
	for _, m := range policy.Modes() {
		if got := m.Decide("a kind of tomorrow"); got == policy.Allow && m != policy.ModeBypass {
			t.Errorf("mode %s allows what it does not know", m)
		}
	}
}

// A stricter mode never allows what a weaker mode asks about.
func TestStrictnessIsAnOrder(t *testing.T) {
	order := []policy.Mode{
		policy.ModeRestricted, policy.ModeSilent, policy.ModeDontAsk, policy.ModePlan,
		policy.ModeDefault, policy.ModeAcceptEdits, policy.ModeAuto, policy.ModeBypass,
	}
	for i, strict := range order {
		for j, loose := range order {
			if got, want := strict.Stricter(loose), order[min(i, j)]; got != want {
				t.Errorf("the stricter of %s and %s is %s, want %s", strict, loose, got, want)
			}
			if j < i {
				continue
			}
			for _, k := range policy.Kinds() {
				if strict.Decide(k) == policy.Allow && loose.Decide(k) != policy.Allow {
					t.Errorf("%s is allowed in %s and not in %s", k, strict, loose)
				}
			}
		}
	}
}

// The modes as the Open Agent SDK describes them.
func TestOpenAgentSDKModeNames(t *testing.T) {
	for _, c := range []struct {
		words string
		mode  policy.Mode
		kind  policy.Kind
		want  policy.Effect
	}{
		{"ask user before each tool execution", policy.ModeDefault, policy.KindEdit, policy.Ask},
		{"read-only tools execute directly", policy.ModePlan, policy.KindRead, policy.Allow},
		{"write operations require confirmation", policy.ModePlan, policy.KindEdit, policy.Ask},
		{"plan holds for commands, too", policy.ModePlan, policy.KindCommand, policy.Ask},
		{"all tools", policy.ModeAuto, policy.KindCommand, policy.Allow},
		{"except dangerous operations", policy.ModeAuto, policy.KindDangerous, policy.Deny},
		{"file edits auto-execute", policy.ModeAcceptEdits, policy.KindEdit, policy.Allow},
		{"other operations require confirmation", policy.ModeAcceptEdits, policy.KindCommand, policy.Ask},
		{"don't ask user", policy.ModeDontAsk, policy.KindEdit, policy.Deny},
		{"skip all permission checks", policy.ModeBypass, policy.KindDangerous, policy.Allow},
		{"only a predefined whitelist", policy.ModeRestricted, policy.KindRead, policy.Deny},
		{"no user prompts", policy.ModeSilent, policy.KindEdit, policy.Deny},
	} {
		if got := c.mode.Decide(c.kind); got != c.want {
			t.Errorf("%s (%s, %s): %s, want %s", c.words, c.mode, c.kind, got, c.want)
		}
	}
}
