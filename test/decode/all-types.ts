/** A schema with every field type, label and form. */
export const allTypes = `
syntax = "proto3";
package t;
enum Kind { ZERO = 0; ONE = 1; }
message Inner { int32 a = 1; string s = 2; Inner inner = 3; repeated int32 n = 4; }
message Known { reserved 1 to max; }
message Nothing {}
message All {
  double d = 1; float f = 2; int64 i64 = 3; uint64 u64 = 4; int32 i32 = 5; fixed64 x64 = 6; fixed32 x32 = 7; bool b = 8;
  string s = 9; bytes y = 10; uint32 u32 = 11; sfixed32 sx32 = 12; sfixed64 sx64 = 13; sint32 z32 = 14; sint64 z64 = 15;
  Kind kind = 16; Inner inner = 17; repeated int32 packed = 18; repeated string names = 19; repeated Inner inners = 20;
  map<string, int32> counts = 21; map<int64, Inner> byId = 22; map<bool, bytes> flags = 23; repeated double doubles = 24;
  oneof choice { int32 c1 = 30; Inner c2 = 31; string c3 = 32; }
  optional int32 maybe = 40; Known known = 50; Nothing nothing = 51; int32 far = 536870911; int32 middle = 3000;
}`;
