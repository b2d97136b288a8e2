package shellparse

import (
	"fmt"
	"strings"
	"testing"
)

// Variables that name each other many times over are followed once each: a line that is
// made to be slow is not.
func TestReferencesAreFollowedOnce(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "a%d='a%d + a%d * (a%d - a%d)'; ", i, i+1, i+1, i+2, i)
	}
	harmless := b.String() + "a60=1; a61=2; echo $((a0))"
	if r := Parse(harmless, &Options{Dir: "/w"}); !r.Safe() {
		t.Errorf("numbers are unclear: %q", r.Unclear)
	}
	harmful := b.String() + "a60='x[$(rm y)]'; a61=2; echo $((a0))"
	if r := Parse(harmful, &Options{Dir: "/w"}); r.Static() {
		t.Error("what the sixtieth variable runs is not found")
	}
}

// What is certain to be a number stays static: counters, sums and loops are everyday.
func TestReferencesToNumbersAreStatic(t *testing.T) {
	for _, line := range []string{
		`i=0; i=$((i + 1)); echo $i`, `for i in 1 2 3; do echo $((i * 2)); done`, `for ((i = 0; i < 3; i++)); do echo $i; done`,
		`declare -i n=3; n+=1; echo $n`, `f() { echo $(($1 + $2)); }; f 1 2`, `set -- 4 5; echo $(($1 * $2))`, `x=y; y=3; echo $((x + 1))`,
		`n=08; echo $((10#$n))`, `a=(1 2 3); echo ${a[1 + 1]}`, `x=abc; echo ${x:1:1}`, `[[ 3 -gt 2 ]] && echo x`, `let x=1+2; echo $x`,
		`x='$HOME'; echo "$x"`, `x='$(date)'; echo "$x"`, `x='$(date)'; y=1; echo $((y + 1)) "$x"`,
	} {
		if r := Parse(line, &Options{Dir: "/w", Home: "/home/u"}); !r.Static() {
			t.Errorf("%s\n\tis unclear: %q", line, r.Unclear)
		}
	}
}
