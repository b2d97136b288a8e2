package settings

import (
	"fmt"
	"strings"
)

// Notice reports which settings of an untrusted folder are ignored, with a hint. Both are "" if no
// settings are ignored.
func (s *Settings) Notice() (what, hint string) {
	if len(s.Ignored) == 0 {
		return "", ""
	}
	untrusted := false
	for _, l := range s.Layers {
		untrusted = untrusted || l.Untrusted
	}
	if !untrusted {
		return "", ""
	}
	rules := 0
	var words []string
	for _, i := range s.Ignored {
		if strings.HasPrefix(i.Setting, "allow rule ") {
			rules++
			continue
		}
		words = append(words, i.Setting)
	}
	switch {
	case rules == 1:
		words = append([]string{"1 allow rule"}, words...)
	case rules > 1:
		words = append([]string{fmt.Sprintf("%d allow rules", rules)}, words...)
	}
	verb := "are"
	if rules <= 1 && len(words) == 1 {
		verb = "is"
	}
	return fmt.Sprintf("the settings of %s are not trusted: %s %s ignored", s.Project, strings.Join(words, ", "), verb),
		"review them, then: holdfast trust " + quote(s.Project)
}
