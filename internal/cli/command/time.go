package command

import (
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// ReadTime parses a date, a date with a time, or an age such as 3d (three days ago). A time without
// a zone is local.
func ReadTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, outcome.Invalid(flag+" "+strconv.Quote(text)+" is not a valid time", "use 2026-11-20, 2026-11-20T15:04:05Z, or an age such as 90m or 3d")
}
