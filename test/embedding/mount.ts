import { type ComponentType, createElement, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

/** Shows a component in the page. */
export function mount(component: ComponentType): void {
  createRoot(document.body).render(createElement(StrictMode, null, createElement(component)));
}
