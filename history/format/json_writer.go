package format

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jepgo/jepgo/history"
)

// appendJSONOp writes op as a JSON object on one line, as elle-cli takes it. The
// order of keys is that of the EDN writer.
func appendJSONOp(dst []byte, op *history.Op) []byte {
	dst = append(dst, '{')
	if op.Index != history.Absent {
		dst = append(strconv.AppendInt(append(dst, `"index":`...), op.Index, 10), ',')
	}
	if op.Time != history.Absent {
		dst = append(strconv.AppendInt(append(dst, `"time":`...), op.Time, 10), ',')
	}
	if name := op.Type.String(); name != "" {
		dst = append(appendJSONString(append(dst, `"type":`...), name), ',')
	}
	if n, ok := op.Process.Client(); ok {
		dst = append(strconv.AppendInt(append(dst, `"process":`...), n, 10), ',')
	} else if !op.Process.IsZero() {
		dst = append(appendJSONString(append(dst, `"process":`...), op.Process.Name()), ',')
	}
	if op.F != "" {
		dst = append(appendJSONString(append(dst, `"f":`...), op.F), ',')
	}
	dst = appendJSON(append(dst, `"value":`...), op.Value, false)
	if op.Node != "" {
		dst = appendJSONString(append(dst, `,"node":`...), op.Node)
	}
	if op.Tag != "" {
		dst = appendJSONString(append(dst, `,"tag":`...), op.Tag)
	}
	if !op.Error.IsNil() {
		dst = appendJSON(append(dst, `,"error":`...), op.Error, false)
	}
	for i := range op.Extra {
		if field := &op.Extra[i]; !isWritten(op, field.Key) {
			dst = append(appendJSONString(append(dst, ','), field.Key), ':')
			dst = appendJSON(dst, field.Value, false)
		}
	}
	return append(dst, '}')
}

// isWritten reports whether op has something in the place of that key.
func isWritten(op *history.Op, key string) bool {
	switch key {
	case "index":
		return op.Index != history.Absent
	case "time":
		return op.Time != history.Absent
	case "type":
		return op.Type != 0
	case "process":
		return !op.Process.IsZero()
	case "f":
		return op.F != ""
	case "node":
		return op.Node != ""
	case "tag":
		return op.Tag != ""
	case "error":
		return !op.Error.IsNil()
	}
	return key == "value"
}

// appendJSON writes v so that the JSON reader finds v again where JSON has a way
// to say it.
func appendJSON(dst []byte, v history.Value, inArray bool) []byte {
	elems := v.Elems()
	switch v.Kind() {
	case history.Nil:
		return append(dst, "null"...)
	case history.Bool:
		is, _ := v.Flag()
		return strconv.AppendBool(dst, is)
	case history.Integer:
		n, _ := v.Int()
		return strconv.AppendInt(dst, n, 10)
	case history.Float:
		f, _ := v.Float()
		return appendJSONFloat(dst, f)
	case history.Number:
		text := strings.TrimRight(v.Text(), "NM")
		if !json.Valid([]byte(text)) { // a ratio, or a decimal like 1.M
			return appendJSONString(dst, text)
		}
		return append(dst, text...)
	case history.KeywordKind:
		return appendJSONString(dst, ":"+v.Text())
	case history.List, history.Vector, history.Set:
		dst = append(dst, '[')
		for i := range elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			if i == 0 && inArray && elems[0].Kind() == history.KeywordKind && isMicroOp(elems[0].Text(), len(elems)) {
				dst = appendJSONString(dst, elems[0].Text())
				continue
			}
			dst = appendJSON(dst, elems[i], true)
		}
		return append(dst, ']')
	case history.Map:
		dst = append(dst, '{')
		for i := 0; i+1 < len(elems); i += 2 {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSONString(dst, keyText(elems[i]))
			dst = appendJSON(append(dst, ':'), elems[i+1], false)
		}
		return append(dst, '}')
	case history.Tagged:
		if len(elems) > 0 {
			return appendJSON(dst, elems[0], inArray)
		}
		return append(dst, "null"...)
	}
	return appendJSONString(dst, v.Text())
}

// keyText is how the key of a map is written.
func keyText(key history.Value) string {
	switch key.Kind() {
	case history.KeywordKind:
		if name := key.Text(); isBare([]byte(name)) {
			return name
		}
		return ":" + key.Text()
	case history.String, history.Symbol, history.Char:
		return key.Text()
	}
	return key.String()
}

// appendJSONFloat writes f so that it reads back as a float. What is out of range
// for JSON's readers is what they make infinity of; there is no way to write NaN.
func appendJSONFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "null"...)
	case math.IsInf(f, 1):
		return append(dst, "1e999"...)
	case math.IsInf(f, -1):
		return append(dst, "-1e999"...)
	}
	from := len(dst)
	form := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	dst = strconv.AppendFloat(dst, f, form, -1, 64)
	if !strings.ContainsAny(string(dst[from:]), ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendJSONString writes s; bytes that are no UTF-8 become U+FFFD.
func appendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += size
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\r':
			dst = append(dst, `\r`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}
