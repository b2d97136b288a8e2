package shellparse

// special handles what a row cannot describe. If it sets handled, [call.apply] does not interpret
// the options and operands again.
func (c *call) special(depth int) {
	switch c.prog.special {
	case "":
	case "env":
		c.env(depth)
	case "sudo":
		c.sudo()
	case "su":
		c.su()
	case "sg":
		c.sg()
	case "shellless":
		c.withoutCommand()
	case "trace":
		c.trace()
	case "taskset":
		c.only = c.has("-p")
	case "setarch":
		c.setarch()
	case "flock":
		c.lateLine()
	case "script":
		c.lateLine()
	case "entr":
		c.entr()
	case "watch":
		c.watch()
	case "watchexec":
		c.watchexec()
	case "nodemon":
		c.nodemon()
	case "xargs":
		c.xargs()
	case "parallel":
		c.parallel()
	case "find":
		c.find()
	case "fd":
		c.fd()
	case "tools":
		c.afterDashes()
	case "nixcommand":
		c.nixCommand()
	case "crossenv":
		c.dropAssigns()
	case "dotenv":
		c.dropAssigns()
	case "bwrap":
		c.bwrap()
	case "capsh":
		c.capsh()
	case "multiplexer":
		c.multiplexer()
	case "daemon":
		c.daemon()
	case "shell":
		c.shell()
	default:
		c.builtin()
	}
}
