package purity

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"
)

// checkPrinting reports what would put an address into a text: the verb %p,
// and operands that print as one. A function counts as printing when its last
// parameter is ...any; with a string before it, that is the format. So the
// project's own wrappers of fmt are covered too.
func (f *file) checkPrinting() {
	for cursor := range f.root.Preorder((*ast.CallExpr)(nil)) {
		call := cursor.Node().(*ast.CallExpr)
		if builtin, ok := f.callee(call).(*types.Builtin); ok && builtin.Name() == "panic" {
			f.checkOperands(call.Args)
			continue
		}
		signature, ok := underlying(f.pass.TypesInfo.TypeOf(call.Fun)).(*types.Signature)
		if !ok || !takesAny(signature) {
			continue
		}
		first := signature.Params().Len() - 1 // of the operands
		if first > 0 && isString(signature.Params().At(first-1).Type()) {
			f.checkFormat(call.Args[first-1])
		}
		f.checkOperands(call.Args[first:])
	}
}

// takesAny tells whether the last parameter is ...any.
func takesAny(s *types.Signature) bool {
	if !s.Variadic() {
		return false
	}
	last, ok := s.Params().At(s.Params().Len() - 1).Type().(*types.Slice)
	return ok && types.Identical(last.Elem(), types.Universe.Lookup("any").Type())
}

func isString(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Kind() == types.String
}

// checkFormat reports %p in a constant format.
func (f *file) checkFormat(format ast.Expr) {
	value := f.pass.TypesInfo.Types[format].Value
	if value == nil || value.Kind() != constant.String {
		return
	}
	if slices.Contains(verbs(constant.StringVal(value)), 'p') {
		f.report(format.Pos(), "%%p in ring 0 prints an address: print an id")
	}
}

// verbs returns the verbs of a format: the first letter or percent sign behind
// each percent sign, past flags, width, precision and argument index.
func verbs(format string) []byte {
	var found []byte
	for {
		_, rest, ok := strings.Cut(format, "%")
		if !ok {
			return found
		}
		rest = strings.TrimLeft(rest, "+-# 0123456789.*[]")
		if rest == "" {
			return found
		}
		found = append(found, rest[0])
		format = rest[1:]
	}
}

func (f *file) checkOperands(operands []ast.Expr) {
	for _, operand := range operands {
		t := f.pass.TypesInfo.TypeOf(operand)
		if printsAddress(t, true, false, nil) {
			f.report(operand.Pos(), "a %s prints as an address, or holds something that does: print an id", types.TypeString(t, types.RelativeTo(f.pass.Pkg)))
		}
	}
}

// printsAddress tells whether fmt prints an address for a value of type t: a
// pointer, channel or function, or one within. At the top, fmt follows one
// pointer to a struct, array, slice or map. Below an unexported field it
// cannot call the methods by which a type formats itself. What an interface
// holds is not known. outer lists the types around t, which end the walk.
func printsAddress(t types.Type, top, unexported bool, outer []types.Type) bool {
	if !unexported && formatsItself(t) {
		return false
	}
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		return !top || !fmtFollows(pointer.Elem()) || printsAddress(pointer.Elem(), false, unexported, outer)
	}
	if slices.ContainsFunc(outer, func(o types.Type) bool { return types.Identical(o, t) }) {
		return false
	}
	outer = append(outer, t)
	within := func(t types.Type, unexported bool) bool { return printsAddress(t, false, unexported, outer) }
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Chan, *types.Signature:
		return true
	case *types.Slice:
		return within(u.Elem(), unexported)
	case *types.Array:
		return within(u.Elem(), unexported)
	case *types.Map:
		return within(u.Key(), unexported) || within(u.Elem(), unexported)
	case *types.Struct:
		for field := range u.Fields() {
			if within(field.Type(), unexported || !field.Exported()) {
				return true
			}
		}
	}
	return false
}

// fmtFollows tells whether fmt prints what a pointer at the top points to
// when that is a t.
func fmtFollows(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Struct, *types.Array, *types.Slice, *types.Map:
		return true
	}
	return false
}

// formatsItself tells whether t has a method that fmt prints it by.
func formatsItself(t types.Type) bool {
	methods := types.NewMethodSet(t)
	for _, name := range []string{"Error", "String", "Format"} {
		if methods.Lookup(nil, name) != nil {
			return true
		}
	}
	return false
}
