package shellparse

import "strings"

// printsNumbers reports whether a command prints only numbers.
func printsNumbers(s *scope, c *command, name string) bool {
	if len(s.tainted) > 0 || len(s.aliases) > 0 || len(c.set) > 0 || c.words[0].text != name && !isSystemPath(c.words[0].text) {
		return false
	}
	args := c.words[1:]
	texts := make([]string, len(args))
	static, numbers := true, true
	for i := range args {
		text, ok := args[i].evaluable()
		texts[i] = text
		static = static && ok && args[i].static
		numbers = numbers && ok && numeric(text)
	}
	switch name {
	case "true", "false", ":", "test", "[":
		return true
	case "cd":
		return static && len(texts) == 1 && (strings.HasPrefix(texts[0], "/") || strings.HasPrefix(texts[0]+"/", "./") || strings.HasPrefix(texts[0]+"/", "../"))
	case "echo":
		return numbers || len(args) > 1 && static && texts[0] == "-n" && numeric(strings.Join(texts[1:], ""))
	case "printf":
		return len(args) > 0 && args[0].static && !args[0].glob && isNumberFormat(args[0].text)
	case "wc":
		for _, a := range texts {
			if len(a) < 2 || a[0] != '-' || strings.Trim(a[1:], "lcwmL") != "" {
				return false
			}
		}
		return static
	case "nproc":
		return static && (len(texts) == 0 || len(texts) == 1 && texts[0] == "--all")
	case "seq":
		return numbers
	case "id":
		return static && len(texts) == 1 && (texts[0] == "-u" || texts[0] == "-g")
	case "expr":
		if len(texts) == 2 && texts[0] == "length" {
			return static
		}
		for i, a := range texts {
			if ok := args[i].static || args[i].shape != ""; !ok || !numeric(a) && !(args[i].static && strings.Trim(a, `*<>=!()`) == "") || a == ":" {
				return false
			}
		}
		return true
	case "date":
		return static && isNumberDate(texts)
	case "grep":
		return static && countsMatches(texts)
	case "stat":
		return static && len(texts) > 2 && texts[0] == "-c" && len(texts[1]) == 2 && texts[1][0] == '%' && strings.Contains("sYXZWaugibh", texts[1][1:]) && !strings.HasPrefix(strings.Join(texts[2:], " "), "-") && !strings.Contains(strings.Join(texts[2:], " "), " -")
	case "tr":
		return static && len(texts) == 2 && (texts[0] == "-cd" || texts[0] == "-dc") && (texts[1] == "0-9" || texts[1] == "[:digit:]")
	}
	return false
}

// isNumberFormat reports whether printf prints only numbers with the format.
func isNumberFormat(format string) bool {
	if strings.HasPrefix(format, "-") {
		return false
	}
	rest := strings.ReplaceAll(format, `\n`, "\n")
	for {
		text, conv, ok := strings.Cut(rest, "%")
		if !numeric(text) {
			return false
		}
		if !ok {
			return true
		}
		conv = strings.TrimLeft(conv, "0123456789-+ ")
		if conv == "" || conv[0] != 'd' && conv[0] != 'i' && conv[0] != 'u' {
			return false
		}
		rest = conv[1:]
	}
}

// isNumberDate reports whether date prints nothing but numbers.
func isNumberDate(args []string) bool {
	formats := 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-u":
		case a == "-d" || a == "-r":
			i++
		case strings.HasPrefix(a, "+"):
			formats++
			a = strings.NewReplacer("%s", "", "%N", "", "%Y", "", "%m", "", "%d", "", "%H", "", "%M", "", "%S", "", "%j", "", "%u", "").Replace(a)
			if !numeric(a) || strings.Contains(a, "%") {
				return false
			}
		default:
			return false
		}
	}
	return formats == 1
}

// countsMatches reports whether grep prints only the number of matching lines of its input or of
// one file, without the name of the file.
func countsMatches(args []string) bool {
	count, operands := false, 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-e":
			i++
			operands++
		case len(a) > 1 && a[0] == '-':
			if strings.Trim(a[1:], "cEFivwxq") != "" {
				return false
			}
			count = count || strings.Contains(a, "c")
		default:
			operands++
		}
	}
	return count && operands > 0 && operands <= 2
}
