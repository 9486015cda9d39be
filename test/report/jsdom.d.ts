/** The little of jsdom that the tests use; the package ships no types. */
declare module "jsdom" {
  export class JSDOM {
    constructor(html: string);
    readonly window: { readonly document: unknown; readonly Option: unknown };
  }
}
